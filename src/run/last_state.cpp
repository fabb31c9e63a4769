#include "run/last_state.hpp"

#include <optional>

#include "engine/restart.hpp"
#include "engine/status.hpp"
#include "observed/observed.hpp"
#include "options/description.hpp"
#include "plan/mode_plan.hpp"
#include "popflow/error.hpp"
#include "run/resume_config.hpp"
#include "training/trained.hpp"

namespace popflow {

LastState load_last_state(const std::string& path, const Catalogue& catalogue, Workers& workers,
                          std::size_t run) {
  const DataFile file(path);
  const FileKind kind = kind_of(file);
  if (kind == FileKind::comparison || kind == FileKind::comparison_of_sweeps)
    throw InputError(path + " is a comparison, not a run, so it has no single last state");
  if (kind == FileKind::sweep)
    throw InputError(path +
                     " is a sweep, not a run, so it has no single last state; 'popflow info " +
                     path + " --cell ...' prints the command that runs one of its cells");
  const bool ensemble = file.has_dataset("status");
  const std::vector<std::int64_t> of_runs =
      ensemble ? file.read("status").integers : std::vector<std::int64_t>();
  if (ensemble ? run < of_runs.size() && is(of_runs[run], Status::diverged)
               : file.text_attribute("", "status") == status_word(Status::diverged))
    throw InputError(path + " has a run that diverged" +
                     (ensemble ? " (number " + std::to_string(run) + " of its runs)" : "") +
                     "; a diverged state cannot be a start");
  LastState last;
  last.path = path;
  last.system = blaming_file(path, [&] {
    return make_system(config_of_file(file, catalogue), catalogue, workers).system;
  });
  Restart restart = RestartReader(file, *last.system).read_state(run, Slots::all);
  last.x = std::move(restart.x);
  last.regime = std::move(restart.regime);
  last.t = file.number_attribute("", "continues_at").value_or(0) + restart.t;
  last.system = unobserved(std::move(last.system));
  last.optimizer = remove_training(last.system, last.x, restart.t);
  return last;
}

std::unique_ptr<const Circumstances> settle_circumstances(const RunConfig& config,
                                                          const Catalogue& catalogue,
                                                          Workers& workers, std::size_t run) {
  const Parameters& options = config.options;
  const SystemInfo& info = catalogue.info(config.system);
  if (options.has("problem") && info.problem.empty())
    throw UsageError("--problem " + options.word("problem") + ": " + info.name +
                     " reads no problem file, because its parameters define it completely");
  auto circumstances = std::make_unique<Circumstances>();
  std::optional<LastState>& start = circumstances->start;
  if (options.has("init-from")) {
    const std::string path = options.word("init-from");
    start = load_last_state(path, catalogue, workers, run);
    if (start->system->info().name != info.name)
      throw InputError("--init-from " + path + " is a run of " + start->system->info().name +
                       ", not of " + info.name);
  }
  circumstances->setting = setting_of(mode_plan(options), options, start ? &*start : nullptr);
  return circumstances;
}

Made make_system(const RunConfig& config, const Catalogue& catalogue, Workers& workers,
                 const Circumstances& circumstances) {
  Made made = catalogue.make(config.system, config.own, circumstances.setting, workers);
  require_shape(*made.system);
  made.system =
      as_trained(std::move(made.system), config.options, made.own, circumstances.setting.start);
  made.system = as_observed(std::move(made.system), config.options, made.own);
  return made;
}

Made make_system(const RunConfig& config, const Catalogue& catalogue, Workers& workers,
                 std::size_t run) {
  return make_system(config, catalogue, workers,
                     *settle_circumstances(config, catalogue, workers, run));
}

}  // namespace popflow
