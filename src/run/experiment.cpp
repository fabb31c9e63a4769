#include "popflow/experiment.hpp"

#include <sys/statvfs.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <mutex>
#include <sstream>
#include <system_error>

#include "popflow/registry.hpp"
#include "popflow/screen.hpp"
#include "popflow/summary.hpp"
#include "run/interrupt.hpp"
#include "run/layout.hpp"
#include "run/modes.hpp"
#include "run/recorder.hpp"
#include "run/restart.hpp"
#include "run/resume_config.hpp"
#include "run/schedule.hpp"
#include "run/status.hpp"
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
  Plan plan;
  bool states_were_cut = false;
  InterruptGuard guard;

  explicit Experiment(const RunConfig& from) : config(from), workers(threads_of(from.options)) {
    Parameters& options = config.options;
    system = find_system(config.system).make({config.own, options, workers});
    settle_mode(options, *system);
    plan.schedule = make_schedule(options, options.real("t-end"));
    plan.spacing = spacing_of(plan.schedule, options);
    plan.ensemble = is_ensemble(options);
    plan.runs = plan.ensemble ? static_cast<std::size_t>(options.integer("runs")) : 1;
    plan.step_length = step_length(options);
    plan_states();
    require_memory(memory_doubles(), "this run");
    // Refuses what the mode does not allow before anything is written.
    plan.driver_memory = make_driver(*system, workers, options, 0, {})->memory_size();
    if (!options.has("threads")) options.resolve("threads", std::int64_t{workers.threads()});
  }

  void plan_states() {
    if (config.options.has("state")) {
      plan.saves = state_saves(config.options.word("state"));
      return;
    }
    const double all = state_bytes(*system) * static_cast<double>(plan.schedule.size()) *
                       static_cast<double>(plan.runs);
    states_were_cut = all > kAllStates;
    plan.saves = states_were_cut ? StateSaves::ends : StateSaves::all;
    config.options.resolve("state", word_of(plan.saves));
  }

  [[nodiscard]] double memory_doubles() const {
    const auto size = static_cast<double>(system->shape().state_size());
    const std::size_t together = std::min<std::size_t>(plan.runs, workers.threads());
    constexpr double kNoisy = 6;  // states that the drivers of noisy modes hold
    return plan.ensemble ? kNoisy * size * static_cast<double>(together)
                         : size * stepper_states(config.options.word("method"), size);
  }

  [[nodiscard]] GroupSpec layout() const { return layout(config); }
  [[nodiscard]] GroupSpec layout(const RunConfig& recorded) const {
    return run_layout(*system, recorded, plan, workers.threads());
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
Outcome drive(Driver& driver, Recorder& recorder, std::size_t next) {
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

/// Progress of all runs together, told by any of them.
class Progress {
 public:
  Progress(Screen& screen, const Plan& plan) : screen_(screen), plan_(plan), at_(plan.runs) {}

  /// What run `run` calls after every step.
  std::function<void(double)> of(std::size_t run) {
    return [this, run, calls = 0u](double t) mutable {
      // The clock is read every so often only: small systems step within microseconds.
      if (++calls % 16 != 0) return;
      at_[run].store(t / plan_.schedule.back(), std::memory_order_relaxed);
      const std::unique_lock lock(mutex_, std::try_to_lock);
      if (!lock) return;
      double sum = 0;
      for (const auto& part : at_) sum += part.load(std::memory_order_relaxed);
      screen_.progress(sum / static_cast<double>(at_.size()),
                       plan_.runs > 1 ? "" : "t = " + shortest(t));
    };
  }
  void done(std::size_t run) { at_[run].store(1, std::memory_order_relaxed); }

 private:
  Screen& screen_;
  const Plan& plan_;
  std::mutex mutex_;
  std::vector<std::atomic<double>> at_;
};

struct Provenance {
  std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
  double before = 0;  ///< wall time of the run before it was resumed
};

/// How one run ended and, in the system's words, where.
struct Ended {
  Outcome outcome;
  std::string where = "undecided";
};

/// What a file that is gone on with says of its runs.
class Past {
 public:
  /// Reads it as it is now; a file that takes its place later changes nothing.
  Past(const std::string& path, const Experiment& experiment, bool extends)
      : file_(path), experiment_(experiment) {
    if (!experiment.plan.ensemble) {
      // A single run without a slot was never begun, or its file is damaged: say so now.
      (void)read_restart(file_, *experiment.system, Slots::going_on);
      return;
    }
    status_ = file_.read("status").integers;
    times_ = file_.read("diverged_at").values;
    if (status_.size() != experiment.plan.runs || times_.size() != experiment.plan.runs)
      throw InputError(path + " is damaged: 'status' has another shape");
    for (std::int64_t& status : status_) {
      const bool complete = status == static_cast<std::int64_t>(Status::complete);
      if (complete && extends) status = static_cast<std::int64_t>(Status::running);
    }
  }

  /// How a run ended that need not be run again.
  [[nodiscard]] std::optional<Outcome> ended(std::size_t run) const {
    if (status_.empty()) return std::nullopt;
    Outcome outcome;
    if (status_[run] == static_cast<std::int64_t>(Status::complete)) return outcome;
    if (status_[run] != static_cast<std::int64_t>(Status::diverged)) return std::nullopt;
    outcome.kind = Outcome::Kind::diverged;
    outcome.diverged_at = times_[run];
    outcome.message = "the trajectory left the finite numbers";
    return outcome;
  }

  /// From where a run goes on; nothing: from its start. HDF5 is for one thread at a time.
  [[nodiscard]] std::optional<Restart> restart(std::size_t run) const {
    const std::lock_guard lock(mutex_);
    return find_restart(file_, *experiment_.system, run, Slots::going_on);
  }

 private:
  DataFile file_;
  const Experiment& experiment_;
  std::vector<std::int64_t> status_;
  std::vector<double> times_;
  mutable std::mutex mutex_;
};

Ended run_one(Experiment& experiment, TrajectoryFile& file, std::size_t run, const Past* past,
              Progress& progress) {
  std::optional<Restart> from;
  if (past != nullptr) from = past->restart(run);
  const System& system = *experiment.system;
  const Parameters& options = experiment.config.options;
  const DriverHooks hooks{[] { return InterruptGuard::signal() != 0; }, progress.of(run)};
  const std::unique_ptr<Driver> driver =
      make_driver(system, experiment.workers, options, static_cast<std::uint32_t>(run), hooks);
  Recorder recorder(system, file, experiment.plan.schedule,
                    {.state = experiment.plan.saves,
                     .checkpoint_every = options.real("checkpoint-every"),
                     .next_sequence = from ? from->sequence + 1 : 0,
                     .ensemble = experiment.plan.ensemble,
                     .run = run});
  std::size_t next = 0;
  if (from) {
    next = static_cast<std::size_t>(from->saves);
    driver->restore(std::move(from->x), from->t, from->memory);
  } else {
    recorder.start_state(*driver);
    recorder.checkpoint(0, *driver);
  }
  Ended ended{drive(*driver, recorder, next)};
  if (!system.info().outcomes.empty())
    ended.where = system.outcome(driver->state(), driver->time());
  if (ended.outcome.kind != Outcome::Kind::interrupted) recorder.finish(ended.outcome, *driver);
  progress.done(run);
  return ended;
}

/// How the whole of an ensemble ended.
Outcome together(const std::vector<Ended>& runs) {
  std::size_t diverged = 0;
  for (const Ended& run : runs) {
    if (run.outcome.kind == Outcome::Kind::interrupted) return run.outcome;
    diverged += run.outcome.kind == Outcome::Kind::diverged ? 1 : 0;
  }
  if (diverged == 0 || runs.size() == 1) return runs.front().outcome;
  Outcome outcome;
  const std::string number = std::to_string(diverged) + " of " + std::to_string(runs.size());
  outcome.message = number + " runs diverged; 'status' and 'stop_time' say which and when";
  if (diverged < runs.size()) return outcome;
  outcome.kind = Outcome::Kind::diverged;
  outcome.diverged_at = runs.front().outcome.diverged_at;
  for (const Ended& run : runs)
    outcome.diverged_at = std::min(outcome.diverged_at, run.outcome.diverged_at);
  return outcome;
}

/// All runs that have not ended in the past, on all threads.
Outcome run_all(Experiment& experiment, TrajectoryFile& file, const Past* past, Screen& screen,
                std::string& where) {
  Progress progress(screen, experiment.plan);
  std::vector<Ended> ended(experiment.plan.runs);
  const auto one = [&](std::size_t run) {
    if (const auto before = past != nullptr ? past->ended(run) : std::nullopt) {
      ended[run].outcome = *before;
      progress.done(run);
    } else if (InterruptGuard::signal() != 0) {
      ended[run].outcome = {Outcome::Kind::interrupted, 0, "interrupted before all runs began"};
    } else {
      ended[run] = run_one(experiment, file, run, past, progress);
    }
  };
  // A single run has the threads for itself.
  if (ended.size() == 1)
    one(0);
  else
    experiment.workers.run(ended.size(), one);
  where = ended.front().where;
  for (const Ended& run : ended)
    if (run.where != where) where = "undecided";
  return together(ended);
}

void close(TrajectoryFile& file, const Outcome& outcome, const std::string& where,
           const Experiment& experiment, const Provenance& provenance) {
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - provenance.begun;
  std::string message = outcome.message;
  if (outcome.kind == Outcome::Kind::reached && message.empty())
    message = "reached t = " + shortest(experiment.plan.schedule.back());
  std::vector<TrajectoryFile::AttributeChange> changes = {
      {"", "status", status_word(status_of(outcome.kind))},
      {"", "status_message", message},
      {"", "diverged_at", outcome.diverged_at},
      {"provenance", "ended", timestamp()},
      {"provenance", "wall_time", provenance.before + wall.count()}};
  if (!experiment.system->info().outcomes.empty()) changes.push_back({"", "outcome", where});
  file.sync();
  file.set_attributes(changes);
}

ExitCode report(const std::string& path, const Outcome& outcome, Screen& screen) {
  screen.progress_done();
  screen.result(summarize(DataFile(path)));
  if (outcome.kind == Outcome::Kind::interrupted)
    screen.warning(outcome.message + "; what was recorded is kept, and 'popflow resume " + path +
                   "' goes on");
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
  for (const std::string& remark : experiment.system->remarks()) screen.message(remark);
  if (experiment.states_were_cut)
    screen.message(
        "all states would take more than 1 GiB: only the first and the last are "
        "recorded (--state all records all)");
  const GroupSpec layout = experiment.layout();
  require_disk(path, file_bytes(layout));
  // Under its final name the file can be resumed from the first moment: runs without a restart slot
  // begin at their start.
  TrajectoryFile file = TrajectoryFile::create(path, layout, force);
  std::string where;
  const Outcome outcome = run_all(experiment, file, nullptr, screen, where);
  close(file, outcome, where, experiment, provenance);
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
    experiment->plan.spacing = plan.spacing;
  else
    file.require(experiment->layout());
  const Past past(path, *experiment, plan.extends);
  if (plan.extends) file = extend_file(path, experiment->layout(plan.recorded));
  file.set_attributes({{"", "status", std::string("running")},
                       {"", "status_message", std::string("the run has not ended")},
                       {"provenance", "resumed", plan.resumed + 1},
                       {"provenance", "last_resumed", timestamp()}});
  std::string where;
  const Outcome outcome = run_all(*experiment, file, &past, screen, where);
  close(file, outcome, where, *experiment, provenance);
  return report(path, outcome, screen);
}

}  // namespace popflow
