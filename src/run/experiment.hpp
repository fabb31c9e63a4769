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
#include "plan/plan.hpp"
#include "popflow/catalogue.hpp"
#include "popflow/data_file.hpp"
#include "popflow/driver.hpp"
#include "popflow/error.hpp"
#include "popflow/system.hpp"
#include "run/continued_runs.hpp"
#include "run/layout.hpp"
#include "text/screen.hpp"

namespace popflow {

/// Experiment: a problem, its plan, and its drivers. Writes nothing to the disk.
struct Experiment {
  RunConfig config;  ///< with the values that the plan has resolved
  Workers& workers;
  std::unique_ptr<System> system;
  Plan plan;
  /// Time at which the run of --init-from ended, since the start of the first run in the chain of
  /// runs that continue one another: t = 0 of this run.
  std::optional<double> continues_at = {};
  DriverData driver_data;  ///< names and lengths of the checkpoint's data

  /// Throws if the system, the mode or the machine does not allow the experiment.
  Experiment(const RunConfig& from, const Catalogue& catalogue, Workers& threads);

  /// Returns how many numbers are in memory at a time: states of the drivers, and samples.
  [[nodiscard]] double memory_doubles() const;
  [[nodiscard]] GroupSpec layout() const { return layout(config); }
  [[nodiscard]] GroupSpec layout(const RunConfig& recorded) const;
  /// Returns the start of run number `run` if the run continues another one, and nothing if it
  /// starts at the System's start.
  [[nodiscard]] std::optional<Restart> start_of(std::size_t run) const;
  /// Restricts the recorded states to the first and the last.
  void cut_states();

 private:
  [[nodiscard]] std::size_t runs_at_a_time() const;
  const Catalogue& catalogue_;
  std::optional<ContinuedRuns> continued_;
};

/// Returns the note that the states were cut; `of` names the owner of the states, and is empty if
/// they are those of the run itself.
std::string cut_states_note(const std::string& of = "");

/// Returns the note that log spacing of the records was chosen by the system; empty otherwise.
std::string spacing_note(const Experiment& experiment);

/// Progress of many runs together, reported by any of them.
class Progress {
 public:
  Progress(Screen& screen, std::size_t runs) : Progress(screen, std::vector<double>(runs, 1)) {}
  /// `work` has the duration of each run, in any unit.
  Progress(Screen& screen, std::vector<double> work);

  /// Returns a callback that run `run` calls after every step on its way to `end`.
  std::function<void(double)> of(std::size_t run, double end);
  /// Prints a warning at once.
  void warn(const std::string& sentence);
  void done(std::size_t run) { at_[run].store(1, std::memory_order_relaxed); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kBetweenLooks{10};

  Screen& screen_;
  std::mutex mutex_;
  std::vector<double> work_;  ///< fractions of the total; their sum is 1
  std::vector<std::atomic<double>> at_;
  std::atomic<Clock::time_point> next_look_ = Clock::time_point::min();
};

struct Provenance {
  std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
  double before = 0;  ///< seconds that the run took before it was resumed

  /// Returns the seconds that the run has taken so far.
  [[nodiscard]] double wall_time() const {
    return before + std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  }
};

/// Records in the file that the run is resumed, for the `times`-th time.
void mark_resumed(const TrajectoryGroup& file, std::int64_t times);
/// Records in the file which exception ended the run, if the file can be written.
void record_failure(const TrajectoryGroup& file, const std::exception_ptr& what) noexcept;
/// Runs `work`, which computes the contents of a file. Records an exception in the file and
/// rethrows it.
template <class Work>
auto recording_failure(const TrajectoryGroup& file, Work work) {
  try {
    return work();
  } catch (...) {
    record_failure(file, std::current_exception());
    throw;
  }
}
/// Records in the file how the run ended.
void close_run(const TrajectoryGroup& file, const Ending& ending, const Experiment& experiment,
               const Provenance& provenance);

/// Reads from a file how its run or ensemble ended: kind and sentence. A run without an end counts
/// as interrupted.
Outcome recorded_outcome(const DataFile& file);
/// Returns the number of threads that the options request; 0 stands for as many as the process may
/// use.
unsigned threads_of(const Parameters& options);
/// Makes the threads of a rank: as many as the options request, by default its share of the
/// machine.
std::unique_ptr<Workers> workers_of(const Ranks& ranks, const Parameters& options);
/// Returns the task of computing a file, in words that all ranks must have in common.
std::string task_of(const RunConfig& config, const std::string& path);
/// Calls require_free() of file/output.hpp with the options, unless it is a --dry-run, which writes
/// nothing.
void require_free(const std::string& path, const Parameters& options);
/// Runs `check`, which tests the output, and then `make`, which reads the inputs. Errors of `make`
/// take precedence, so that the user does not correct the output first and then learn that the
/// input is wrong. `check` goes first because it takes no time.
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
/// Returns the message for a run or comparison that was interrupted. `program` is this program's
/// name.
std::string resume_hint(const Outcome& outcome, const std::string& program,
                        const std::string& path);

}  // namespace popflow
