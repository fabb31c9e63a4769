#include "compare/finished.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "compare/report.hpp"
#include "compare/rungs.hpp"
#include "compare/trajectories.hpp"
#include "engine/interrupt.hpp"
#include "engine/made_of_files.hpp"
#include "engine/specs.hpp"
#include "file/output.hpp"
#include "file/structure.hpp"
#include "options/input_files.hpp"
#include "run/experiment.hpp"
#include "run/resume_config.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// Refuses options that have no meaning because nothing is run. The learning rate has a meaning if
/// external trajectories count steps.
void refuse_options_of_runs(const Parameters& options, bool of_others) {
  constexpr std::array<std::string_view, 13> allowed = {
      "from",   "delta", "delta-time", "delta-share", "delta-factor", "level",   "seed",
      "output", "force", "threads",    "plot",        "quiet",        "progress"};
  for (const Parameter& row : options.table())
    if (options.given(row.name) && !(of_others && row.name == "learning-rate") &&
        std::find(allowed.begin(), allowed.end(), row.name) == allowed.end())
      throw UsageError(
          "--" + row.name +
          " applies to new runs, but --from compares finished files; with --from, the allowed "
          "options are --" +
          text::join({allowed.begin() + 1, allowed.end()}, ", --"));
}

}  // namespace

bool all_external(const std::string& from) {
  const std::vector<FinishedFile> files = finished_files(from);
  return std::all_of(files.begin(), files.end(),
                     [](const FinishedFile& file) { return is_external(file.path); });
}

ExitCode compare_files(const Parameters& options, const std::string& system_name,
                       const std::string& command_line, const Catalogue& catalogue,
                       Screen& screen) {
  const std::vector<FinishedFile> files = finished_files(options.word("from"));
  // The first file of popflow's own determines what is compared; external files may stand beside
  // it.
  std::vector<std::string> words;
  std::vector<InputFile> inputs;
  std::string first;
  for (const FinishedFile& file : files) {
    inputs.push_back({file.path, "--from"});
    if (is_external(file.path)) {
      require_free_word(file);
      continue;
    }
    words.push_back(file.word);
    if (first.empty()) first = file.path;
  }
  const bool with_others = words.size() < files.size();
  refuse_options_of_runs(options, with_others);
  require_different_words(files);
  std::string of_first = "trajectories";
  bool of_sweeps = false;
  if (!first.empty()) {
    const DataFile looked_at(first);
    of_sweeps = kind_of(looked_at) == FileKind::sweep;
    of_first = looked_at.text_attribute("", "system").value_or("");
    check_rungs(
        words, "--from",
        blaming_file(first, [&]() -> const SystemInfo& { return catalogue.info(of_first); }),
        with_others ? 1 : 2);
  } else if (files.size() < 2) {
    throw UsageError(
        "--from names " + files.front().name() +
        " only; give at least two files, or a system and --rungs to compute: compare NAME --from " +
        files.front().word + "=" + files.front().path + " --rungs flow,sgd");
  }
  if (of_sweeps && with_others)
    throw InputError(first + " is a sweep; external trajectories can only be compared with runs");
  const std::string path =
      options.has("output") ? options.word("output") : of_first + "-compare.h5";
  require_free(path, options);
  refuse_input_as_output(path, inputs);
  if (!system_name.empty() && of_first != system_name)
    throw InputError(first + " is a " + (of_sweeps ? "sweep" : "run") + " of " + of_first +
                     ", not of " + system_name);
  const Provenance provenance;
  const InterruptGuard guard;
  Workers workers(threads_of(options));
  const auto make = [&] {
    std::optional<double> learning_rate;
    if (options.given("learning-rate")) learning_rate = options.real("learning-rate");
    const auto rungs = of_sweeps ? finished_sweeps(files, catalogue)
                                 : finished_runs(files, learning_rate, catalogue, screen);
    screen.warning(rungs->shared_numbers());
    std::vector<FinishedFile> own = files;
    std::erase_if(own, [](const FinishedFile& file) { return is_external(file.path); });
    screen.message(left_out_notes(own));
    const GroupSpec layout = rungs->layout(options, command_line, workers.threads());
    require_disk(path, file_bytes(layout));
    TrajectoryFile file = TrajectoryFile::create_unpublished(path, layout);
    rungs->compare(comparison_options(options), file, workers, screen);
    file.set_attributes({{"provenance", "ended", timestamp()},
                         {"provenance", "wall_time", provenance.wall_time()}});
    return file;
  };
  const ExitCode code = make_of_files(make, describe_comparison, options.flag("force"), screen);
  if (code == ExitCode::success) screen.show_picture(path);
  return code;
}

}  // namespace popflow
