#include "run/ensemble.hpp"

#include <algorithm>
#include <functional>
#include <mutex>
#include <utility>

#include "engine/distribution.hpp"
#include "engine/drivers.hpp"
#include "engine/interrupt.hpp"
#include "engine/outcome_index.hpp"
#include "engine/parcel.hpp"
#include "engine/recorder.hpp"
#include "engine/status.hpp"

namespace popflow {

namespace {

/// Callback that receives how a run of the file has ended.
using OnEnded = std::function<void(std::size_t run, Ending ending)>;

/// Returns whether two runs can be computed side by side: both must have been stopped at the same
/// time, and both before or both after the save of that time.
bool can_run_together(const std::optional<Restart>& a, const std::optional<Restart>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->t == b->t && a->saves == b->saves;
}

Ending ending_of(const System& system, const Trajectory& run) {
  Ending ending{run.outcome()};
  if (const auto outcomes = system.capabilities().outcomes) {
    ending.where = outcomes->outcome(run.driver().view(), run.driver().time());
    (void)outcome_index(system.info(), ending.where);  // throws if the outcome is unknown
  }
  return ending;
}

/// Computes runs of an experiment into its file, or into a parcel for the rank that has the file.
class EnsembleComputer final : public RunComputer {
 public:
  struct Part {
    Experiment& experiment;
    const RecordedRuns* before;
    Progress& progress;
    std::size_t first_run;  ///< offset of the runs in `progress`
  };
  /// Records go to `file` or, if that is null, to the first rank.
  EnsembleComputer(const Part& of, Workers& workers, Exchange& exchange,
                   const TrajectoryGroup* file, OnEnded on_ended)
      : of_(of),
        workers_(workers),
        exchange_(exchange),
        parcel_([&exchange](std::vector<double> records) {
          exchange.deliver({{}, {}, {}, std::move(records)});
        }),
        file_(file != nullptr ? *file : TrajectoryGroup(parcel_)),
        on_ended_(std::move(on_ended)) {
    if (file == nullptr)
      on_ended_ = [this](std::size_t run, const Ending& ending) { parcel_.end(run, ending); };
  }

  Batch compute(RunRange range, const std::function<bool()>& patient) override {
    Batch batch{{range.first, 0}, {}, {}};
    do batch.runs.count += compute_together({batch.runs.end(), range.count - batch.runs.count});
    while (batch.runs.count < range.count && patient() && !exchange_.stopped());
    batch.records = parcel_.take();
    return batch;
  }
  [[nodiscard]] std::size_t together() const override {
    return runs_together(of_.experiment.plan.mode);
  }

 private:
  /// Returns the first runs of a range that can be computed side by side: those at one time and
  /// save.
  std::vector<std::optional<Restart>> next_of(RunRange range) const {
    std::vector<std::optional<Restart>> from;
    while (from.size() < std::min<std::uint64_t>(range.count, together())) {
      std::optional<Restart> next;
      const std::size_t run = range.first + from.size();
      next = of_.before != nullptr
                 ? of_.before->restart(run)
                 : of_.experiment.start_of(of_.experiment.plan.ensemble.first_run + run);
      if (!from.empty() && !can_run_together(from.front(), next)) break;
      from.push_back(std::move(next));
    }
    return from;
  }

  DriverHooks hooks_of(std::size_t run, Recorder& recorder) const {
    DriverHooks hooks;
    hooks.interrupted = [this, &recorder] {
      recorder.write_between_steps();
      return exchange_.stopped();
    };
    hooks.on_step = of_.progress.of(of_.first_run + run, of_.experiment.plan.schedule().back());
    hooks.warn = [this](const std::string& sentence) { of_.progress.warn(sentence); };
    return hooks;
  }

  Recorder recorder_of(std::size_t run, const std::optional<Restart>& from) const {
    const Plan& plan = of_.experiment.plan;
    return {*of_.experiment.system,
            file_,
            plan.schedule().size(),
            {.state = plan.output.states,
             .checkpoint_every = plan.output.checkpoint_every,
             .next_sequence = from ? from->sequence + 1 : 1,  // 0 is the start, already written
             .ensemble = plan.ensemble.is_one,
             .run = run,
             .number = plan.ensemble.first_run + run,
             .saves_done = of_.before != nullptr ? of_.before->saves_done(run) : 0}};
  }

  std::size_t compute_together(RunRange range) {
    const Plan& plan = of_.experiment.plan;
    const System& system = *of_.experiment.system;
    std::vector<std::optional<Restart>> from = next_of(range);
    std::vector<std::uint32_t> numbers;
    std::vector<DriverHooks> hooks;
    std::vector<Recorder> recorders;
    recorders.reserve(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      numbers.push_back(static_cast<std::uint32_t>(plan.ensemble.first_run + range.first + i));
      recorders.push_back(recorder_of(range.first + i, from[i]));
      hooks.push_back(hooks_of(range.first + i, recorders.back()));
    }
    std::vector<std::unique_ptr<Driver>> drivers =
        make_drivers(system, workers_, plan.mode, numbers, std::move(hooks));
    std::size_t save = from.front() ? static_cast<std::size_t>(from.front()->saves) : 0;
    std::vector<Trajectory> runs;
    for (std::size_t i = 0; i < from.size(); ++i) {
      runs.emplace_back(plan.schedule(), std::move(drivers[i]), recorders[i]);
      runs.back().begin(std::move(from[i]));
    }
    try {
      for (; save < plan.schedule().size(); ++save)
        for (Trajectory& run : runs) run.advance(save);
    } catch (...) {
      for (Recorder& recorder : recorders) recorder.write_held();
      throw;
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
      runs[i].finish();
      on_ended_(range.first + i, ending_of(system, runs[i]));
    }
    return runs.size();
  }

  Part of_;
  Workers& workers_;
  Exchange& exchange_;
  Parcel parcel_;
  TrajectoryGroup file_;
  OnEnded on_ended_;
};

Crew crew_of(const EnsembleComputer::Part& part, const TrajectoryGroup* file,
             const OnEnded& on_ended) {
  // Few runs share the threads: a single run uses all of them.
  constexpr std::uint64_t kFew = 2;
  return {part.experiment.workers, part.experiment.plan.ensemble.runs, kFew,
          [part, file, on_ended](Workers& workers, Exchange& exchange) {
            return std::make_unique<EnsembleComputer>(part, workers, exchange, file, on_ended);
          }};
}

/// Collects how the runs of a file have ended, here and on other ranks, and writes the records of
/// the other ranks.
class EnsembleWriter final : public BatchWriter {
 public:
  EnsembleWriter(const TrajectoryGroup& file, std::size_t runs, Progress& progress,
                 std::size_t first_run)
      : file_(file), progress_(progress), first_run_(first_run), has_ended_(runs), ended_(runs) {}

  void write(const Batch& batch) override {
    unpack(batch.records, file_,
           [this](std::size_t run, Ending ending) { end(run, std::move(ending)); });
  }
  void end(std::size_t run, Ending ending) {
    progress_.done(first_run_ + run);
    const std::lock_guard lock(mutex_);
    ended_[run] = std::move(ending);
    has_ended_[run] = true;
  }
  [[nodiscard]] Ending together() const {
    Ending never_begun;
    never_begun.outcome.kind = Outcome::Kind::interrupted;
    never_begun.outcome.message = ended_.size() == 1 ? "interrupted before the run began"
                                                     : "interrupted before all runs began";
    EnsembleEnding all;
    for (std::size_t run = 0; run < ended_.size(); ++run)
      all.add(has_ended_[run] ? ended_[run] : never_begun);
    return all.ending();
  }

 private:
  TrajectoryGroup file_;
  Progress& progress_;
  std::size_t first_run_;
  std::mutex mutex_;
  std::vector<bool> has_ended_;
  std::vector<Ending> ended_;
};

}  // namespace

RecordedRuns::RecordedRuns(DataFile file, const Experiment& experiment, bool extends)
    : file_(std::move(file)),
      experiment_(experiment),
      slots_(file_, *experiment.system),
      saves_done_(file_.read("saves_done").integers) {
  if (!experiment.plan.ensemble.is_one) {
    // Checks now that a single run has a restart slot: without one it was never begun, or its file
    // is damaged.
    (void)restart(0);
    return;
  }
  slots_.require(experiment.driver_data);
  status_ = file_.read("status").integers;
  times_ = file_.read("diverged_at").values;
  if (!experiment.system->info().outcomes.empty()) outcomes_ = file_.read("outcome").integers;
  if (status_.size() != experiment.plan.ensemble.runs ||
      times_.size() != experiment.plan.ensemble.runs ||
      (!outcomes_.empty() && outcomes_.size() != experiment.plan.ensemble.runs))
    throw InputError(
        file_.path() +
        " is damaged: the shape of 'status' or 'outcome' does not fit the number of runs");
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
  if (is(status_[run], Status::complete)) return ending;
  if (is(status_[run], Status::stopped)) {
    ending.outcome.kind = Outcome::Kind::stopped;
    return ending;
  }
  if (!is(status_[run], Status::diverged)) return std::nullopt;
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
  // The first run is written last: if it has a slot, all runs have one and the ensemble has begun.
  for (std::size_t run = experiment.plan.ensemble.runs; run-- > 0;) {
    const std::optional<Restart> own =
        experiment.start_of(experiment.plan.ensemble.first_run + run);
    RestartWriter(file, run, 0)
        .write(own ? ResumePoint{&own->x, &own->regime, own->t, own->data} : start, 0, false);
  }
}

Ending run_all(Experiment& experiment, const TrajectoryGroup& file, const RecordedRuns* before,
               Progress& progress, Ranks& ranks, std::size_t first_run) {
  const std::size_t runs = experiment.plan.ensemble.runs;
  EnsembleWriter writer(file, runs, progress, first_run);
  Ledger ledger;
  for (std::size_t run = 0; run < runs; ++run) {
    auto earlier = before == nullptr ? std::nullopt : before->ended(run);
    if (earlier)
      writer.end(run, std::move(*earlier));
    else
      ledger.add({run, 1});
  }
  const OnEnded on_ended = [&writer](std::size_t run, Ending ending) {
    writer.end(run, std::move(ending));
  };
  share_out(ranks, ledger, writer,
            crew_of({experiment, before, progress, first_run}, &file, on_ended), {});
  return writer.together();
}

bool take_part(Experiment& experiment, const RecordedRuns* before, Progress& progress,
               Ranks& ranks) {
  return take_part(ranks, crew_of({experiment, before, progress, 0}, nullptr, {}));
}

}  // namespace popflow
