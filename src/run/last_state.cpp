#include "run/last_state.hpp"

#include <optional>

#include "engine/restart.hpp"
#include "engine/status.hpp"
#include "observed/observed.hpp"
#include "options/description.hpp"
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

std::unique_ptr<const Circumstances> settle_circumstances(const std::string& system,
                                                          const Plan& plan,
                                                          const Catalogue& catalogue,
                                                          Workers& workers, std::size_t run) {
  const SystemInfo& info = catalogue.info(system);
  if (plan.problem.file && info.problem.empty())
    throw UsageError("--problem " + *plan.problem.file + ": " + info.name +
                     " reads no problem file, because its parameters define it completely");
  auto circumstances = std::make_unique<Circumstances>();
  std::optional<LastState>& start = circumstances->start;
  if (const std::optional<std::string>& path = plan.problem.start) {
    start = load_last_state(*path, catalogue, workers, run);
    if (start->system->info().name != info.name)
      throw InputError("--init-from " + *path + " is a run of " + start->system->info().name +
                       ", not of " + info.name);
  }
  circumstances->setting = setting_of(plan, circumstances->state());
  return circumstances;
}

Made make_system(const std::string& system, const Parameters& own, const Plan& plan,
                 const Catalogue& catalogue, Workers& workers, const Circumstances& circumstances) {
  Made made = catalogue.make(system, own, circumstances.setting, workers);
  require_shape(*made.system);
  made.system = as_trained(std::move(made.system), plan.training, made.own, circumstances.state());
  made.system = as_observed(std::move(made.system), plan.observation, made.own);
  return made;
}

Made make_system(const RunConfig& config, const Catalogue& catalogue, Workers& workers,
                 std::size_t run) {
  const Plan plan = plan_of(config.options);
  return make_system(config.system, config.own, plan, catalogue, workers,
                     *settle_circumstances(config.system, plan, catalogue, workers, run));
}

}  // namespace popflow
