#include "run/last_state.hpp"

#include <algorithm>
#include <optional>

#include "engine/restart.hpp"
#include "engine/status.hpp"
#include "options/description.hpp"
#include "plan/mode_plan.hpp"
#include "popflow/error.hpp"
#include "run/resume_config.hpp"

namespace popflow {

LastState load_last_state(const std::string& path, const Catalogue& catalogue, Workers& workers,
                          std::size_t run) {
  const DataFile file(path);
  const FileKind kind = kind_of(file);
  if (kind == FileKind::comparison || kind == FileKind::comparison_of_sweeps)
    throw InputError(path + " holds a comparison, not a run: it has no single last state");
  if (kind == FileKind::sweep)
    throw InputError(path +
                     " holds a sweep, not a run: it has no single last state; 'popflow info " +
                     path + " --cell ...' prints the command that runs one of its cells");
  const bool ensemble = file.has_dataset("status");
  const std::vector<std::int64_t> of_runs =
      ensemble ? file.read("status").integers : std::vector<std::int64_t>();
  if (ensemble ? run < of_runs.size() && is(of_runs[run], Status::diverged)
               : file.text_attribute("", "status") == status_word(Status::diverged))
    throw InputError(path + " holds a run that diverged" +
                     (ensemble ? " (number " + std::to_string(run) + " of its runs)" : "") +
                     "; its last state is no start");
  LastState last;
  last.path = path;
  last.system = blaming_file(path, [&] {
    return make_system(config_of_file(file, catalogue), catalogue, workers).system;
  });
  Restart restart = RestartReader(file, *last.system).read_state(run, Slots::all);
  last.x = std::move(restart.x);
  last.regime = std::move(restart.regime);
  last.t = file.number_attribute("", "continues_at").value_or(0) + restart.t;
  return last;
}

std::optional<std::size_t> place_of_start(const Parameters& options, std::size_t number) {
  if (!options.has("init-from") || !has_noise(options)) return std::nullopt;
  const DataFile file(options.word("init-from"));
  const std::size_t runs = file.has_dataset("status") ? file.length("status") : 1;
  if (runs < 2) return std::nullopt;
  const std::vector<std::int64_t> numbers = file.integers("run", runs);
  const auto found = std::ranges::find(numbers, static_cast<std::int64_t>(number));
  if (found == numbers.end())
    throw UsageError("--init-from " + file.path() + " holds " + std::to_string(runs) +
                     " runs, and none with the number " + std::to_string(number) +
                     " from which that run could go on; give --runs " + std::to_string(runs));
  return static_cast<std::size_t>(found - numbers.begin());
}

std::string said_of_start(const Parameters& options) {
  if (!options.has("init-from")) return "";
  const DataFile file(options.word("init-from"));
  const std::size_t runs = file.has_dataset("status") ? file.length("status") : 1;
  if (runs < 2) return "";
  return "--init-from " + file.path() + " holds " + std::to_string(runs) +
         (has_noise(options) ? " runs: each run goes on where that of its number ended"
                             : " runs: the start is where its first one ended");
}

std::string warning_of_start(const Parameters& options) {
  if (!options.has("init-from") || !has_noise(options)) return "";
  const DataFile file(options.word("init-from"));
  if (!file.has_group("parameters")) return "";
  const auto seed = file.number_attribute("parameters", "seed");
  const bool replays = file.text_attribute("parameters", "mode") == options.word("mode") && seed &&
                       *seed == static_cast<double>(options.integer("seed"));
  if (!replays) return "";
  return "--seed " + options.text("seed") + " is that of " + file.path() +
         " as well: this phase draws the same samples and noise as the one before; another --seed "
         "draws others";
}

std::unique_ptr<const Circumstances> settle_circumstances(const RunConfig& config,
                                                          const Catalogue& catalogue,
                                                          Workers& workers, std::size_t run) {
  const Parameters& options = config.options;
  const SystemInfo& info = catalogue.info(config.system);
  if (options.has("problem") && info.problem.empty())
    throw UsageError("--problem " + options.word("problem") + ": " + info.name +
                     " reads no problem file; it is defined by its parameters");
  auto circumstances = std::make_unique<Circumstances>();
  std::optional<LastState>& start = circumstances->start;
  if (options.has("init-from")) {
    const std::string path = options.word("init-from");
    start = load_last_state(path, catalogue, workers, run);
    if (start->system->info().name != info.name)
      throw InputError("--init-from " + path + " holds a run of " + start->system->info().name +
                       ", not of " + info.name);
  }
  circumstances->setting = setting_of(mode_plan(options), options, start ? &*start : nullptr);
  return circumstances;
}

Made make_system(const RunConfig& config, const Catalogue& catalogue, Workers& workers,
                 const Circumstances& circumstances) {
  Made made = catalogue.make(config.system, config.own, circumstances.setting, workers);
  require_shape(*made.system);
  return made;
}

Made make_system(const RunConfig& config, const Catalogue& catalogue, Workers& workers,
                 std::size_t run) {
  return make_system(config, catalogue, workers,
                     *settle_circumstances(config, catalogue, workers, run));
}

}  // namespace popflow
