#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/ranks.hpp"
#include "engine/restart.hpp"
#include "file/trajectory_group.hpp"
#include "popflow/data_file.hpp"
#include "run/experiment.hpp"

namespace popflow {

/// Runs recorded in a file that is to be resumed.
class RecordedRuns {
 public:
  /// Reads the file in its present state; a file that replaces it later has no effect.
  RecordedRuns(DataFile file, const Experiment& experiment, bool extends);
  RecordedRuns(const RecordedRuns&) = delete;
  RecordedRuns& operator=(const RecordedRuns&) = delete;

  /// Returns how a run ended if it need not be run again.
  [[nodiscard]] std::optional<Ending> ended(std::size_t run) const;
  /// Returns the state from which a run is resumed.
  [[nodiscard]] Restart restart(std::size_t run) const;
  /// Returns the number of saves of a run that the file holds.
  [[nodiscard]] std::int64_t saves_done(std::size_t run) const { return saves_done_.at(run); }

 private:
  DataFile file_;
  const Experiment& experiment_;
  RestartReader slots_;
  std::vector<std::int64_t> saves_done_;
  std::vector<std::int64_t> status_;
  std::vector<double> times_;
  std::vector<std::int64_t> outcomes_;  ///< empty if the system has none
};

/// Writes the start of every run. If the program is killed, a run that has not begun can then begin
/// from its start, even if the input files are gone. The caller synchronises the file to the disk.
void write_starts(Experiment& experiment, const TrajectoryGroup& file);

/// Computes all runs that have not ended yet, on all threads and ranks, into the file. Called by
/// the first rank. Run r has the number first_run + r in `progress`. The starts must be written.
Ending run_all(Experiment& experiment, const TrajectoryGroup& file, const RecordedRuns* before,
               Progress& progress, Ranks& ranks, std::size_t first_run = 0);
/// Computes the runs that the first rank hands out in its run_all(). Called by all other ranks.
/// Returns false if no more work follows.
bool take_part(Experiment& experiment, const RecordedRuns* before, Progress& progress,
               Ranks& ranks);

}  // namespace popflow
