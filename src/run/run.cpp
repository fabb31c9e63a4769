#include "popflow/experiment.hpp"

#include <sstream>

#include "popflow/summary.hpp"
#include "run/experiment.hpp"
#include "run/interrupt.hpp"
#include "run/resume_config.hpp"

namespace popflow {

namespace {

std::string output_of(const RunConfig& config) {
  if (config.options.has("output")) return config.options.word("output");
  return config.system + "-" + config.options.word("mode") + ".h5";
}

ExitCode report(const std::string& path, const Outcome& outcome, Screen& screen) {
  screen.progress_done();
  const DataFile file(path);
  screen.result(summarize(file));
  if (outcome.kind != Outcome::Kind::interrupted)
    for (const std::string& warning : warnings_at_end(file)) screen.warning(warning);
  if (outcome.kind == Outcome::Kind::interrupted)
    screen.warning(how_to_go_on(outcome, path));
  else if (!outcome.message.empty() && outcome.kind != Outcome::Kind::steady)
    screen.warning(outcome.message);
  return exit_code(outcome.kind);
}

ExitCode say_finished(const std::string& path, const ResumePlan& plan, Screen& screen) {
  screen.message(plan.why_finished);
  screen.result(summarize(DataFile(path)));
  return ExitCode::success;
}

std::string dry_run(const Experiment& experiment, const std::string& path) {
  std::ostringstream text;
  const auto size = experiment.system->shape().state_size();
  text << "popflow run " << experiment.config.system << ", nothing run\n"
       << config_text(experiment.config) << "state numbers   " << size << '\n'
       << "memory          " << describe_bytes(8 * experiment.memory_doubles())
       << " for the state and the integrator\n"
       << "file            " << path << ", " << describe_bytes(file_bytes(experiment.layout()))
       << '\n';
  return text.str();
}

}  // namespace

ExitCode run_experiment(const RunConfig& config, Screen& screen) {
  const std::string path = output_of(config);
  refuse_existing(path, config.options);
  const InterruptGuard guard;
  Workers workers(threads_of(config.options));
  Experiment experiment(config, workers);
  if (config.options.flag("dry-run")) {
    screen.result(dry_run(experiment, path));
    return ExitCode::success;
  }

  const Provenance provenance;
  for (const std::string& remark : experiment.system->remarks()) screen.message(remark);
  for (const std::string& warning : experiment.system->warnings()) screen.warning(warning);
  if (experiment.states_were_cut)
    screen.message(
        "all states would take more than 1 GiB: only the first and the last are "
        "recorded (--state all records all)");
  const GroupSpec layout = experiment.layout();
  require_disk(path, file_bytes(layout));
  TrajectoryFile file = TrajectoryFile::create(path, layout, config.options.flag("force"));
  Progress progress(screen, experiment.plan.runs);
  const Ending ending = run_all(experiment, file, nullptr, progress);
  close_run(file, ending, experiment, provenance);
  return report(path, ending.outcome, screen);
}

ExitCode resume_experiment(const std::string& path, const ResumeOptions& options, Screen& screen) {
  if (const ResumePlan plan = plan_resume(path, options); plan.finished)
    return say_finished(path, plan, screen);
  TrajectoryFile file = TrajectoryFile::open(path);
  // Only now no other process writes it; one may have finished it meanwhile.
  const ResumePlan plan = plan_resume(path, options);
  if (plan.finished) return say_finished(path, plan, screen);

  const Provenance provenance{.before = plan.wall_time};
  const InterruptGuard guard;
  Workers workers(threads_of(plan.config.options));
  const auto experiment =
      blaming_file(path, [&] { return std::make_unique<Experiment>(plan.config, workers); });
  if (plan.extends)
    experiment->plan.spacing = plan.spacing;
  else
    file.require(experiment->layout());
  const Past past(DataFile(path), *experiment, plan.extends);
  if (plan.extends) file = extend_file(path, experiment->layout(plan.recorded));
  mark_resumed(file, plan.resumed + 1);
  Progress progress(screen, experiment->plan.runs);
  const Ending ending = run_all(*experiment, file, &past, progress);
  close_run(file, ending, *experiment, provenance);
  return report(path, ending.outcome, screen);
}

}  // namespace popflow
