#include "run/experiment.hpp"

#include <algorithm>
#include <numeric>

#include "file/output.hpp"
#include "flow/step_length.hpp"
#include "options/tokens.hpp"
#include "outcome_index.hpp"
#include "popflow/memory.hpp"
#include "run/drivers.hpp"
#include "run/interrupt.hpp"
#include "run/last_state.hpp"
#include "run/memory_of_runs.hpp"
#include "run/recorder.hpp"
#include "run/status.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// A run on its way from save to save: the only place where driver and recorder meet.
class OneRun {
 public:
  OneRun(std::unique_ptr<Driver> driver, Recorder recorder)
      : driver_(std::move(driver)), recorder_(std::move(recorder)) {}

  [[nodiscard]] bool ended() const { return outcome_.has_value(); }
  /// From where it was recorded last, or from the start.
  void begin(std::optional<Restart> from) {
    const bool at_start = !from || from->saves == 0;
    if (from) driver_->restore(std::move(from->x), std::move(from->regime), from->t, from->data);
    if (at_start && driver_->time() == 0) recorder_.start_state(*driver_);
  }
  void advance(std::size_t save) {
    const Outcome outcome = driver_->advance(recorder_.schedule()[save]);
    if (outcome.kind == Outcome::Kind::reached) return recorder_.save(save, *driver_);
    if (outcome.kind == Outcome::Kind::interrupted)
      recorder_.interrupt(save, *driver_);
    else
      recorder_.stop(save, *driver_);
    outcome_ = outcome;
  }
  Ending end(const System& system) {
    Ending ended;
    ended.outcome = outcome_.value_or(Outcome{Outcome::Kind::reached, driver_->time(), ""});
    if (const auto outcomes = system.capabilities().outcomes) {
      ended.where = outcomes->outcome(driver_->view(), driver_->time());
      (void)outcome_index(system.info(), ended.where);  // is there such a one?
    }
    if (ended.outcome.kind != Outcome::Kind::interrupted) recorder_.finish(ended.outcome, *driver_);
    return ended;
  }

 private:
  std::unique_ptr<Driver> driver_;
  Recorder recorder_;
  std::optional<Outcome> outcome_;  ///< where it did not reach a save
};

/// Runs `first` and following of the file, side by side: as many as have an `ended`. They stand at
/// the same time and save: at the start, or where `from` says.
void run_together(Experiment& experiment, const TrajectoryGroup& file, std::size_t first,
                  std::span<Ending> ended, std::vector<std::optional<Restart>> from,
                  Progress& progress, std::size_t place) {
  const System& system = *experiment.system;
  const Schedule& schedule = experiment.plan.schedule();
  std::vector<std::uint32_t> numbers;
  std::vector<DriverHooks> hooks(ended.size());
  for (std::size_t i = 0; i < ended.size(); ++i) {
    numbers.push_back(static_cast<std::uint32_t>(experiment.plan.first_run + first + i));
    hooks[i].interrupted = [] { return InterruptGuard::signal() != 0; };
    hooks[i].on_step = progress.of(place + i, schedule.back());
    hooks[i].warn = [&progress](const std::string& sentence) { progress.warn(sentence); };
  }
  std::vector<std::unique_ptr<Driver>> drivers =
      make_drivers(system, experiment.workers, experiment.plan.mode, numbers, std::move(hooks));
  std::size_t next = from.front() ? static_cast<std::size_t>(from.front()->saves) : 0;
  std::vector<OneRun> runs;
  for (std::size_t i = 0; i < ended.size(); ++i) {
    runs.emplace_back(
        std::move(drivers[i]),
        Recorder(system, file, schedule,
                 {.state = experiment.plan.states,
                  .checkpoint_every = experiment.plan.checkpoint_every,
                  .next_sequence = from[i] ? from[i]->sequence + 1 : 1,  // the start's is written
                  .ensemble = experiment.plan.ensemble,
                  .run = first + i,
                  .number = numbers[i]}));
    runs.back().begin(std::move(from[i]));
  }
  for (; next < schedule.size(); ++next)
    for (OneRun& run : runs)
      if (!run.ended()) run.advance(next);
  for (std::size_t i = 0; i < ended.size(); ++i) ended[i] = runs[i].end(system);
}

/// Neighbouring runs that are to be computed, in stretches that may go side by side.
struct Stretch {
  std::size_t first = 0;
  std::size_t count = 0;
};
std::vector<Stretch> stretches(const Experiment& experiment, const std::vector<bool>& done) {
  // As many as there are lanes, but no thread without any.
  const std::size_t runs = experiment.plan.runs;
  const std::size_t threads = experiment.workers.threads();
  const std::size_t most = std::min(runs_together(experiment.plan.mode),
                                    std::max<std::size_t>(1, (runs + threads - 1) / threads));
  std::vector<Stretch> all;
  for (std::size_t run = 0; run < runs; ++run) {
    if (done[run]) continue;
    const bool follows = !all.empty() && all.back().first + all.back().count == run;
    if (follows && all.back().count < most)
      ++all.back().count;
    else
      all.push_back({run, 1});
  }
  return all;
}

/// Runs that were stopped at different times, or before and after the save of one time, cannot go
/// side by side.
bool go_on_alike(const std::optional<Restart>& a, const std::optional<Restart>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->t == b->t && a->saves == b->saves;
}

}  // namespace

void Together::add(const Ending& run) {
  const Outcome& outcome = run.outcome;
  if (runs_ == 0) first_ = run;
  ++runs_;
  if (outcome.kind == Outcome::Kind::interrupted && interrupted_.kind != Outcome::Kind::interrupted)
    interrupted_ = outcome;
  if (outcome.kind == Outcome::Kind::diverged) {
    diverged_at_ =
        diverged_ == 0 ? outcome.diverged_at : std::min(diverged_at_, outcome.diverged_at);
    ++diverged_;
    return;  // where it was says nothing
  }
  if (exit_code(outcome.kind) == ExitCode::limit && limited_++ == 0) limit_ = outcome.kind;
  if (!where_) where_ = run.where;
  if (*where_ != run.where) where_ = "undecided";
}

Ending Together::ending() const {
  if (runs_ == 1) return first_;
  const std::string where = where_.value_or("undecided");
  if (interrupted_.kind == Outcome::Kind::interrupted) return {interrupted_, where};
  if (diverged_ == 0 && (limited_ == 0 || limited_ == runs_)) return {first_.outcome, where};
  Outcome outcome;
  outcome.kind = limit_;
  const std::string of_all = " of " + std::to_string(runs_) + " runs ";
  if (limited_ > 0) outcome.message = std::to_string(limited_) + of_all + "ended at a limit";
  if (diverged_ > 0)
    outcome.message += (limited_ > 0 ? ", " + std::to_string(diverged_) + " "
                                     : std::to_string(diverged_) + of_all) +
                       "diverged";
  outcome.message += "; 'status' and 'stop_time' say which and when";
  if (diverged_ == runs_) {
    outcome.kind = Outcome::Kind::diverged;
    outcome.diverged_at = diverged_at_;
  }
  return {outcome, where};
}

unsigned threads_of(const Parameters& options) {
  return options.has("threads") ? static_cast<unsigned>(options.integer("threads")) : 0;
}

void require_free(const std::string& path, const Parameters& options) {
  if (!options.flag("dry-run")) require_free(path, options.flag("force"));
}

std::string how_to_resume(const Outcome& outcome, const std::string& program,
                          const std::string& path) {
  return outcome.message + "; what was recorded is kept, and '" + program + " resume " +
         options::shell_quoted(path) + "' continues from there";
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
    case Outcome::Kind::stuck:
      return ExitCode::limit;
    case Outcome::Kind::interrupted:
      return interrupted_code();
  }
  return ExitCode::success;
}

Outcome recorded_outcome(const DataFile& file) {
  using Ends = Outcome::Kind;
  const std::string status = file.text_attribute("", "status").value_or("");
  Outcome outcome{Ends::interrupted, 0, file.text_attribute("", "status_message").value_or("")};
  for (const Ends kind : {Ends::reached, Ends::steady, Ends::diverged, Ends::step_limit,
                          Ends::underflow, Ends::stuck})
    if (status == status_word(status_of(kind))) outcome.kind = kind;
  return outcome;
}

Experiment::Experiment(const RunConfig& from, const Catalogue& catalogue, Workers& threads)
    : config(from), workers(threads) {
  Made made = make_system(config, catalogue, workers);
  system = std::move(made.system);
  config.own = std::move(made.own);
  Parameters& options = config.options;
  plan = plan_run(options, *system);
  record(plan, options);
  constexpr double kNumbersOfRun = 32;  // its status, counts, ending and progress, and copies
  require_memory(kNumbersOfRun * static_cast<double>(plan.runs), "--runs " + options.text("runs"));
  require_memory(numbers_of_states(*system, plan.mode, runs_at_a_time()), "this run");
  // Refuses what the mode does not allow before anything is written.
  driver_data = make_driver(*system, workers, plan.mode, 0, {})->resume_point().data;
  require_memory(memory_doubles(),
                 std::to_string(runs_at_a_time()) + " runs at a time (--threads)");
  if (!options.has("threads")) options.resolve("threads", std::int64_t{workers.threads()});
}

void Experiment::cut_states() {
  popflow::cut_states(plan);
  record(plan, config.options);
}

std::string said_of_cut_states(const std::string& of) {
  return "all states " + (of.empty() ? "" : "of " + of + " ") +
         "would take more than 1 GiB: only the first and the last are recorded (--state all "
         "records all)";
}

std::size_t Experiment::runs_at_a_time() const {
  return std::min<std::size_t>(plan.runs, workers.threads());
}

double Experiment::memory_doubles() const {
  return numbers_of_runs(*system, plan.mode, runs_at_a_time());
}

GroupSpec Experiment::layout(const RunConfig& recorded) const {
  return run_layout(*system, recorded, plan, driver_data, workers.threads());
}

Progress::Progress(Screen& screen, std::vector<double> work)
    : screen_(screen), work_(std::move(work)), at_(work_.size()) {
  const double all = std::accumulate(work_.begin(), work_.end(), 0.0);
  for (double& part : work_) part /= all;
}

std::function<void(double)> Progress::of(std::size_t run, double end) {
  return [this, run, end, calls = 0u](double t) mutable {
    // The clock is read every so often only: small systems step within microseconds.
    if (++calls % 16 != 0) return;
    at_[run].store(t / end, std::memory_order_relaxed);
    // To look at all runs may take longer than a step of one.
    const Clock::time_point now = Clock::now();
    if (now < next_look_.load(std::memory_order_relaxed)) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;
    next_look_.store(now + kBetweenLooks, std::memory_order_relaxed);
    double sum = 0;
    for (std::size_t i = 0; i < at_.size(); ++i)
      sum += work_[i] * at_[i].load(std::memory_order_relaxed);
    screen_.progress(sum, at_.size() > 1 ? "" : "t = " + text::rounded(t));
  };
}

void Progress::warn(const std::string& sentence) {
  const std::lock_guard lock(mutex_);
  screen_.warning(sentence);
}

RecordedRuns::RecordedRuns(DataFile file, const Experiment& experiment, bool extends)
    : file_(std::move(file)), experiment_(experiment), slots_(file_, *experiment.system) {
  if (!experiment.plan.ensemble) {
    // A single run without a slot was never begun, or its file is damaged: say so now.
    (void)restart(0);
    return;
  }
  slots_.require(experiment.driver_data);
  status_ = file_.read("status").integers;
  times_ = file_.read("diverged_at").values;
  if (!experiment.system->info().outcomes.empty()) outcomes_ = file_.read("outcome").integers;
  if (status_.size() != experiment.plan.runs || times_.size() != experiment.plan.runs ||
      (!outcomes_.empty() && outcomes_.size() != experiment.plan.runs))
    throw InputError(file_.path() + " is damaged: 'status' has another shape");
  for (std::int64_t& status : status_)
    if (extends) status = status_when_extended(status);
}

std::optional<Ending> RecordedRuns::ended(std::size_t run) const {
  if (status_.empty()) return std::nullopt;
  Ending ending;
  const std::vector<OutcomeInfo>& known = experiment_.system->info().outcomes;
  if (!outcomes_.empty() && outcomes_[run] > 0 &&
      outcomes_[run] <= static_cast<std::int64_t>(known.size()))
    ending.where = known[static_cast<std::size_t>(outcomes_[run] - 1)].word;
  if (status_[run] == static_cast<std::int64_t>(Status::complete)) return ending;
  if (status_[run] != static_cast<std::int64_t>(Status::diverged)) return std::nullopt;
  ending.outcome.kind = Outcome::Kind::diverged;
  ending.outcome.diverged_at = times_[run];
  ending.outcome.message = "the trajectory became non-finite";
  return ending;
}

Restart RecordedRuns::restart(std::size_t run) const {
  return slots_.read(experiment_.driver_data, run, Slots::resumable);
}

void write_starts(Experiment& experiment, const TrajectoryGroup& file) {
  const auto driver =
      make_driver(*experiment.system, experiment.workers, experiment.plan.mode, 0, {});
  const ResumePoint start = driver->resume_point();
  // The first run's last: an ensemble with a slot there has begun.
  for (std::size_t run = experiment.plan.runs; run-- > 0;)
    RestartWriter(file, run, 0).write(start, 0, false);
}

Ending run_all(Experiment& experiment, const TrajectoryGroup& file, const RecordedRuns* before,
               Progress& progress, std::size_t first_run) {
  std::vector<Ending> ended(experiment.plan.runs);
  std::vector<bool> done(ended.size());
  for (std::size_t run = 0; before != nullptr && run < ended.size(); ++run)
    if (const auto earlier = before->ended(run)) {
      ended[run] = *earlier;
      done[run] = true;
      progress.done(first_run + run);
    }
  const std::vector<Stretch> left = stretches(experiment, done);
  const auto compute = [&](std::size_t number) {
    const Stretch& stretch = left[number];
    const std::size_t end = stretch.first + stretch.count;
    if (ended.size() > 1 && InterruptGuard::signal() != 0) {
      for (std::size_t run = stretch.first; run < end; ++run)
        ended[run].outcome = {Outcome::Kind::interrupted, 0, "interrupted before all runs began"};
      return;
    }
    for (std::size_t run = stretch.first; run < end;) {
      std::vector<std::optional<Restart>> from;
      while (run + from.size() < end) {
        std::optional<Restart> next;
        if (before != nullptr) next = before->restart(run + from.size());
        if (!from.empty() && !go_on_alike(from.front(), next)) break;
        from.push_back(std::move(next));
      }
      const std::size_t count = from.size();
      run_together(experiment, file, run, std::span(ended).subspan(run, count), std::move(from),
                   progress, first_run + run);
      run += count;
    }
    for (std::size_t run = stretch.first; run < end; ++run) progress.done(first_run + run);
  };
  // A single run has the threads for itself.
  if (ended.size() == 1 && left.size() == 1)
    compute(0);
  else
    experiment.workers.run(left.size(), compute);
  Together all;
  for (const Ending& run : ended) all.add(run);
  return all.ending();
}

void mark_resumed(const TrajectoryGroup& file, std::int64_t times) {
  file.set_attributes({{"", "status", std::string("running")},
                       {"", "status_message", std::string("the run has not ended")},
                       {"provenance", "resumed", times},
                       {"provenance", "last_resumed", timestamp()}});
}

void close_run(const TrajectoryGroup& file, const Ending& ending, const Experiment& experiment,
               const Provenance& provenance) {
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - provenance.begun;
  const Outcome& outcome = ending.outcome;
  std::string message = outcome.message;
  if (outcome.kind == Outcome::Kind::reached && message.empty())
    message = "reached " + at_time(experiment.plan.schedule().back());
  std::vector<TrajectoryFile::AttributeChange> changes = {
      {"", "status", status_word(status_of(outcome.kind))},
      {"", "status_message", message},
      {"", "diverged_at", outcome.diverged_at},
      {"provenance", "ended", timestamp()},
      {"provenance", "wall_time", provenance.before + wall.count()}};
  if (!experiment.system->info().outcomes.empty()) changes.push_back({"", "outcome", ending.where});
  file.sync();
  file.set_attributes(changes);
}

}  // namespace popflow
