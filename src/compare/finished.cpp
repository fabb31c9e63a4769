#include "compare/finished.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>

#include "compare/report.hpp"
#include "compare/rungs.hpp"
#include "engine/interrupt.hpp"
#include "engine/made_of_files.hpp"
#include "engine/specs.hpp"
#include "file/output.hpp"
#include "file/structure.hpp"
#include "options/input_files.hpp"
#include "plot/picture.hpp"
#include "run/experiment.hpp"
#include "run/resume_config.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// Refuses options that have no meaning because nothing is run.
void refuse_options_of_runs(const Parameters& options) {
  constexpr std::array<std::string_view, 13> allowed = {
      "from",   "delta", "delta-time", "delta-share", "delta-factor", "level",   "seed",
      "output", "force", "threads",    "plot",        "quiet",        "progress"};
  for (const Parameter& row : options.table())
    if (options.given(row.name) &&
        std::find(allowed.begin(), allowed.end(), row.name) == allowed.end())
      throw UsageError(
          "--" + row.name +
          " is for runs yet to be made, and --from compares files that are there; beside "
          "it there may be --" +
          text::join({allowed.begin() + 1, allowed.end()}, ", --"));
}

}  // namespace

ExitCode compare_files(const Parameters& options, const std::string& system_name,
                       const std::string& command_line, const Catalogue& catalogue,
                       Screen& screen) {
  refuse_options_of_runs(options);
  const std::vector<FinishedFile> files = finished_files(options.word("from"));
  const std::string& first = files.front().path;
  const DataFile looked_at(first);
  const bool of_sweeps = kind_of(looked_at) == FileKind::sweep;
  const std::string of_first = looked_at.text_attribute("", "system").value_or("");
  std::vector<std::string> words;
  std::vector<InputFile> inputs;
  for (const FinishedFile& file : files) {
    words.push_back(file.word);
    inputs.push_back({file.path, "--from"});
  }
  check_rungs(words, "--from",
              blaming_file(first, [&]() -> const SystemInfo& { return catalogue.info(of_first); }));
  const std::string path =
      options.has("output") ? options.word("output") : of_first + "-compare.h5";
  require_free(path, options);
  refuse_input_as_output(path, inputs);
  if (!system_name.empty() && of_first != system_name)
    throw InputError(first + " holds a " + (of_sweeps ? "sweep" : "run") + " of " + of_first +
                     ", not of " + system_name);
  const Provenance provenance;
  const InterruptGuard guard;
  Workers workers(threads_of(options));
  const auto interrupted = unless_interrupted(screen, [&] {
    const auto rungs =
        of_sweeps ? finished_sweeps(files, catalogue) : finished_runs(files, catalogue);
    if (const std::string warning = rungs->shared_numbers(); !warning.empty())
      screen.warning(warning);
    if (const std::string fewer = said_of_left_out(files); !fewer.empty()) screen.message(fewer);
    const GroupSpec layout = rungs->layout(options, command_line, workers.threads());
    require_disk(path, file_bytes(layout));
    TrajectoryFile file = TrajectoryFile::create_unpublished(path, layout);
    rungs->compare(comparison_options(options), file, workers, screen);
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - provenance.begun;
    file.set_attributes(
        {{"provenance", "ended", timestamp()}, {"provenance", "wall_time", wall.count()}});
    publish_readable(file, options.flag("force"),
                     [](const DataFile& whole) { (void)describe_comparison(whole); });
  });
  if (interrupted) return *interrupted;
  screen.result(describe_comparison(DataFile(path)));
  show_picture(path, options, catalogue, screen);
  return ExitCode::success;
}

}  // namespace popflow
