#include "merge/merge.hpp"

#include <sys/resource.h>

#include "engine/interrupt.hpp"
#include "file/examine.hpp"
#include "file/output.hpp"
#include "merge/ensemble.hpp"
#include "merge/sweeps.hpp"
#include "options/input_files.hpp"
#include "popflow/data_file.hpp"
#include "sweep/sweep.hpp"

namespace popflow {

namespace {

/// Returns the kind of a file: the mode of its run.
std::string mode_of(const std::string& path) {
  const DataFile file(path);
  if (file.text_attribute("", "format") != "popflow")
    throw InputError("'" + path + "' is not a file that popflow wrote");
  return file.text_attribute("", "mode").value_or("");
}

/// Raises the limit on open files: all files are open at once, and may be more than the default
/// allows.
void ask_for_descriptors() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &files);  // if this fails, opening a file reports the error
}

void check_output(const MergeOptions& options) {
  std::vector<InputFile> inputs;
  for (const std::string& file : options.files) inputs.push_back({file, "merge"});
  refuse_input_as_output(options.output, inputs);
  require_free(options.output, options.force);
}

}  // namespace

ExitCode merge(const MergeOptions& options, const Catalogue& catalogue, Screen& screen) {
  check_output(options);
  ask_for_descriptors();
  const InterruptGuard guard;
  hdf5::examine_together(options.files);
  if (kind_of(DataFile(options.files.front())) == FileKind::sweep)
    return merge_sweeps(options, catalogue, screen);
  if (options.allow_missing)
    throw UsageError("--allow-missing applies to files of sweeps only; " + options.files.front() +
                     " is not a sweep");
  const std::string mode = mode_of(options.files.front());
  if (mode == "sde" || mode == "sgd") return merge_ensemble(options, screen);
  throw InputError("'" + options.files.front() + "' " +
                   (mode == "compare" ? "is a comparison" : "has a single run of mode " + mode) +
                   "; 'merge' joins shards of a sweep (--shard I/N) and parts of an ensemble "
                   "(run --mode sde or sgd with --first-run)");
}

}  // namespace popflow
