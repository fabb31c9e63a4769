#include "popflow/experiment.hpp"

#include <sys/statvfs.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "popflow/flow_driver.hpp"
#include "popflow/registry.hpp"
#include "popflow/screen.hpp"
#include "popflow/summary.hpp"
#include "run/interrupt.hpp"
#include "run/layout.hpp"
#include "run/recorder.hpp"
#include "run/restart.hpp"
#include "run/resume_config.hpp"
#include "run/schedule.hpp"
#include "steppers/stepper.hpp"

namespace popflow {

namespace {

namespace fs = std::filesystem;
constexpr double kAllStates = 1024.0 * 1024 * 1024;

unsigned threads_of(const Parameters& options) {
  return options.has("threads") ? static_cast<unsigned>(options.integer("threads")) : 0;
}

std::string output_of(const RunConfig& config) {
  if (config.options.has("output")) return config.options.word("output");
  return config.system + "-" + config.options.word("mode") + ".h5";
}

/// One experiment: a problem, its plan, and what drives it.
struct Experiment {
  RunConfig config;
  Workers workers;
  std::unique_ptr<System> system;
  Schedule schedule;
  Spacing spacing;
  StateSaves state = StateSaves::all;
  bool states_were_cut = false;
  InterruptGuard guard;

  explicit Experiment(const RunConfig& from) : config(from), workers(threads_of(from.options)) {
    system = find_system(config.system).make({config.own, config.options, workers});
    if (!config.options.has("t-end")) config.options.resolve("t-end", system->default_end());
    schedule = make_schedule(config.options, config.options.real("t-end"));
    spacing = spacing_of(schedule, config.options);
    plan_states();
    require_memory(memory_doubles(), "this run");
    if (!config.options.has("threads"))
      config.options.resolve("threads", std::int64_t{workers.threads()});
  }

  void plan_states() {
    if (config.options.has("state")) {
      state = state_saves(config.options.word("state"));
      return;
    }
    const double all = state_bytes(*system) * static_cast<double>(schedule.size());
    states_were_cut = all > kAllStates;
    state = states_were_cut ? StateSaves::ends : StateSaves::all;
    config.options.resolve("state", word_of(state));
  }

  [[nodiscard]] double memory_doubles() const {
    const auto size = static_cast<double>(system->shape().state_size());
    return size * stepper_states(config.options.word("method"), size);
  }

  [[nodiscard]] GroupSpec layout() const { return layout(config); }
  [[nodiscard]] GroupSpec layout(const RunConfig& recorded) const {
    return run_layout(*system, recorded, schedule, spacing, state, workers.threads());
  }

  [[nodiscard]] FlowDriver::Options driver_options(Screen& screen) {
    const Parameters& o = config.options;
    FlowDriver::Options options;
    options.method = o.word("method");
    options.rtol = o.real("rtol");
    options.atol = o.real("atol");
    if (o.has("dt")) options.dt = o.real("dt");
    options.max_steps = o.integer("max-steps");
    if (o.has("stop-when")) options.steady_tolerance = o.real("steady-tolerance");
    options.interrupted = [] { return InterruptGuard::signal() != 0; };
    const double t_end = schedule.back();
    options.on_step = [&screen, t_end, calls = 0u](double t) mutable {
      // The clock is read every so often only: small systems step within microseconds.
      if (++calls % 16 == 0) screen.progress(t / t_end, "t = " + shortest(t));
    };
    return options;
  }
};

void require_disk(const std::string& path, double bytes) {
  struct statvfs disk {};
  const fs::path parent = fs::absolute(path).parent_path();
  if (statvfs(parent.c_str(), &disk) != 0) return;  // creating the file will say why
  const double free = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
  if (bytes > free)
    throw UsageError("the file " + path + " would need " + describe_bytes(bytes) +
                     " of disk; there are " + describe_bytes(free) +
                     " free. Fewer --saves or --state ends make it smaller");
}

std::string status_word(Outcome::Kind kind) {
  switch (kind) {
    case Outcome::Kind::reached:
      return "complete";
    case Outcome::Kind::steady:
      return "steady";
    case Outcome::Kind::diverged:
      return "diverged";
    case Outcome::Kind::step_limit:
      return "step_limit";
    case Outcome::Kind::underflow:
      return "underflow";
    case Outcome::Kind::interrupted:
      return "interrupted";
  }
  return "";
}

ExitCode exit_code(Outcome::Kind kind) {
  switch (kind) {
    case Outcome::Kind::reached:
    case Outcome::Kind::steady:
      return ExitCode::success;
    case Outcome::Kind::diverged:
      return ExitCode::diverged;
    case Outcome::Kind::step_limit:
    case Outcome::Kind::underflow:
      return ExitCode::limit;
    case Outcome::Kind::interrupted:
      return InterruptGuard::signal() == SIGTERM ? ExitCode::terminated : ExitCode::interrupted;
  }
  return ExitCode::success;
}

/// The whole run from save `next` on: the only place where driver and recorder meet.
Outcome drive(FlowDriver& driver, Recorder& recorder, std::size_t next) {
  const Schedule& schedule = recorder.schedule();
  for (; next < schedule.size(); ++next) {
    const Outcome outcome = driver.advance(schedule[next]);
    if (outcome.kind == Outcome::Kind::interrupted) {
      recorder.checkpoint(next, driver);
      return outcome;
    }
    if (outcome.kind != Outcome::Kind::reached) {
      recorder.stop(next, driver);
      return outcome;
    }
    recorder.save(next, driver);
  }
  Outcome outcome;
  outcome.time = driver.time();
  return outcome;
}

struct Provenance {
  std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
  double before = 0;  ///< wall time of the run before it was resumed
};

void close(TrajectoryFile& file, const Outcome& outcome, const FlowDriver& driver,
           const Experiment& experiment, const Provenance& provenance) {
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - provenance.begun;
  std::string message = outcome.message;
  if (outcome.kind == Outcome::Kind::reached)
    message = "reached t = " + shortest(experiment.schedule.back());
  std::vector<TrajectoryFile::AttributeChange> changes = {
      {"", "status", status_word(outcome.kind)},
      {"", "status_message", message},
      {"", "diverged_at", outcome.diverged_at},
      {"provenance", "ended", timestamp()},
      {"provenance", "wall_time", provenance.before + wall.count()}};
  const System& system = *experiment.system;
  if (!system.info().outcomes.empty())
    changes.push_back({"", "outcome", system.outcome(driver.state(), driver.time())});
  file.sync();
  file.set_attributes(changes);
}

ExitCode report(const std::string& path, const Outcome& outcome, Screen& screen) {
  screen.progress_done();
  screen.result(summarize(DataFile(path)));
  if (outcome.kind == Outcome::Kind::interrupted)
    screen.warning(outcome.message + "; what was recorded is kept, and 'popflow resume " + path +
                   "' goes on");
  else if (exit_code(outcome.kind) != ExitCode::success)
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
  const bool force = config.options.has("force") && config.options.flag("force");
  const bool dry = config.options.has("dry-run") && config.options.flag("dry-run");
  std::error_code unknown;  // making the file will say why
  if (!force && !dry && fs::exists(path, unknown))
    throw UsageError("the output " + path + " exists; --force replaces it");
  Experiment experiment(config);
  if (dry) {
    screen.result(dry_run(experiment, path));
    return ExitCode::success;
  }

  const Provenance provenance;
  FlowDriver driver(*experiment.system, experiment.workers, experiment.driver_options(screen));
  for (const std::string& remark : experiment.system->remarks()) screen.message(remark);
  if (experiment.states_were_cut)
    screen.message(
        "all states would take more than 1 GiB: only the first and the last are "
        "recorded (--state all records all)");
  const GroupSpec layout = experiment.layout();
  require_disk(path, file_bytes(layout));
  // Under its final name the file can be resumed from the first moment.
  TrajectoryFile file = TrajectoryFile::create_unpublished(path, layout);
  Recorder recorder(*experiment.system, file, experiment.schedule,
                    {experiment.state, config.options.real("checkpoint-every"), 0});
  recorder.start_state(driver);
  recorder.checkpoint(0, driver);
  file.publish(force);
  const Outcome outcome = drive(driver, recorder, 0);
  close(file, outcome, driver, experiment, provenance);
  return report(path, outcome, screen);
}

ExitCode resume_experiment(const std::string& path, const ResumeOptions& options, Screen& screen) {
  if (const ResumePlan plan = plan_resume(path, options); plan.finished)
    return say_finished(path, plan, screen);
  TrajectoryFile file = TrajectoryFile::open(path);
  // Only now no other process writes it; one may have finished it meanwhile.
  const ResumePlan plan = plan_resume(path, options);
  if (plan.finished) return say_finished(path, plan, screen);

  const Provenance provenance{.before = plan.wall_time};
  const auto experiment =
      blaming_file(path, [&] { return std::make_unique<Experiment>(plan.config); });
  if (plan.extends)
    experiment->spacing = plan.spacing;
  else
    file.require(experiment->layout());
  const System& system = *experiment->system;
  FlowDriver driver = blaming_file(path, [&] {
    return FlowDriver(system, experiment->workers, experiment->driver_options(screen));
  });
  Restart restart = read_restart(DataFile(path), system, Slots::going_on);
  driver.restore(std::move(restart.x), restart.t, restart.memory);

  if (plan.extends) file = extend_file(path, experiment->layout(plan.recorded));
  file.set_attributes({{"", "status", std::string("running")},
                       {"", "status_message", std::string("the run has not ended")},
                       {"provenance", "resumed", plan.resumed + 1},
                       {"provenance", "last_resumed", timestamp()}});
  Recorder recorder(system, file, experiment->schedule,
                    {experiment->state, experiment->config.options.real("checkpoint-every"),
                     restart.sequence + 1});
  const Outcome outcome = drive(driver, recorder, static_cast<std::size_t>(restart.saves));
  close(file, outcome, driver, *experiment, provenance);
  return report(path, outcome, screen);
}

}  // namespace popflow
