#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/ending.hpp"
#include "engine/ranks.hpp"
#include "engine/restart.hpp"
#include "file/trajectory_group.hpp"
#include "options/run_config.hpp"
#include "plan/run_plan.hpp"
#include "popflow/catalogue.hpp"
#include "popflow/data_file.hpp"
#include "popflow/driver.hpp"
#include "popflow/error.hpp"
#include "popflow/system.hpp"
#include "run/continued_runs.hpp"
#include "run/layout.hpp"
#include "text/screen.hpp"

namespace popflow {

/// One experiment: a problem, its plan, and what drives it. Makes nothing on disk.
struct Experiment {
  RunConfig config;  ///< with what the plan has resolved
  Workers& workers;
  std::unique_ptr<System> system;
  RunPlan plan;
  /// Time at which the run of --init-from ended, since the start of the first run of all those that
  /// continue one another: this run's t = 0.
  std::optional<double> continues_at = {};
  bool spacing_was_chosen = false;  ///< records are logarithmic, without having been asked to be
  DriverData driver_data;           ///< names and lengths of the restart data

  /// Throws what the system, the mode and the machine refuse.
  Experiment(const RunConfig& from, const Catalogue& catalogue, Workers& threads);

  /// Numbers in memory at a time: states that drivers hold, and samples.
  [[nodiscard]] double memory_doubles() const;
  [[nodiscard]] GroupSpec layout() const { return layout(config); }
  [[nodiscard]] GroupSpec layout(const RunConfig& recorded) const;
  /// Start of run number `run`, if not the System's: of one that continues another.
  [[nodiscard]] std::optional<Restart> start_of(std::size_t run) const;
  /// Records the first and the last states alone.
  void cut_states();

 private:
  [[nodiscard]] std::size_t runs_at_a_time() const;
  const Catalogue& catalogue_;
  std::optional<ContinuedRuns> continued_;
};

/// Sentence that the states were cut; `of` says whose, if not a run's own.
std::string said_of_cut_states(const std::string& of = "");

/// Sentence that tells how records are spaced where the System chose it; else empty.
std::string said_of_spacing(const Experiment& experiment);

/// Progress of many runs together, reported by any of them.
class Progress {
 public:
  Progress(Screen& screen, std::size_t runs) : Progress(screen, std::vector<double>(runs, 1)) {}
  /// `work` holds how long each run takes, in any unit.
  Progress(Screen& screen, std::vector<double> work);

  /// To be called by run `run` after every step on its way to `end`.
  std::function<void(double)> of(std::size_t run, double end);
  /// Says a sentence at once.
  void warn(const std::string& sentence);
  void done(std::size_t run) { at_[run].store(1, std::memory_order_relaxed); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kBetweenLooks{10};

  Screen& screen_;
  std::mutex mutex_;
  std::vector<double> work_;  ///< its sum is 1
  std::vector<std::atomic<double>> at_;
  std::atomic<Clock::time_point> next_look_ = Clock::time_point::min();
};

struct Provenance {
  std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
  double before = 0;  ///< wall time of the run before it was resumed
};

/// Writes that it is resumed, for the `times`-th time.
void mark_resumed(const TrajectoryGroup& file, std::int64_t times);
/// Writes which exception ended it, as far as it can be written.
void record_failure(const TrajectoryGroup& file, const std::exception_ptr& what) noexcept;
/// Does `work`, which computes what a file is to hold. An exception of it is recorded in the file,
/// and goes on.
template <class Work>
auto recording_failure(const TrajectoryGroup& file, Work work) {
  try {
    return work();
  } catch (...) {
    record_failure(file, std::current_exception());
    throw;
  }
}
/// Writes how it ended.
void close_run(const TrajectoryGroup& file, const Ending& ending, const Experiment& experiment,
               const Provenance& provenance);

/// How a run or an ensemble ended, from its file: its kind and its sentence. One that has not
/// ended, or whose file says nothing of it, counts as interrupted.
Outcome recorded_outcome(const DataFile& file);
/// Threads that the options request; 0: as many as the process may use.
unsigned threads_of(const Parameters& options);
/// The threads that a rank has for its work: its share of the machine, unless the options say how
/// many.
std::unique_ptr<Workers> workers_of(const Ranks& ranks, const Parameters& options);
/// require_free() of file/output.hpp by the options; a --dry-run writes nothing.
void require_free(const std::string& path, const Parameters& options);
/// Makes something, and tells what is wrong with its output only where nothing is wrong with what
/// goes in: a user should not have to mend the one to hear of the other. `check` is called first,
/// since it takes no time.
template <class Check, class Make>
auto after_inputs(Check check, Make make) {
  std::exception_ptr wrong;
  try {
    check();
  } catch (const Error&) {
    wrong = std::current_exception();
  }
  auto made = make();
  if (wrong) std::rethrow_exception(wrong);
  return made;
}
/// The message for a run or comparison that was interrupted. `program` is the name of this one.
std::string how_to_resume(const Outcome& outcome, const std::string& program,
                          const std::string& path);

}  // namespace popflow
