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
  /// Reads it as it is now; a file that takes its place later changes nothing.
  RecordedRuns(DataFile file, const Experiment& experiment, bool extends);
  RecordedRuns(const RecordedRuns&) = delete;
  RecordedRuns& operator=(const RecordedRuns&) = delete;

  /// How a run ended that need not be run again.
  [[nodiscard]] std::optional<Ending> ended(std::size_t run) const;
  /// From where a run is resumed.
  [[nodiscard]] Restart restart(std::size_t run) const;

 private:
  DataFile file_;
  const Experiment& experiment_;
  RestartReader slots_;
  std::vector<std::int64_t> status_;
  std::vector<double> times_;
  std::vector<std::int64_t> outcomes_;  ///< of systems that have some
};

/// Writes the start of every run: those that had not begun when the program was killed begin there,
/// even if the files it was made from are gone. The caller puts them on the disk.
void write_starts(Experiment& experiment, const TrajectoryGroup& file);

/// Computes all runs that have not ended before, on all threads and ranks, into the file. For the
/// first rank. Run r is number first_run + r of `progress`. The starts must be written.
Ending run_all(Experiment& experiment, const TrajectoryGroup& file, const RecordedRuns* before,
               Progress& progress, Ranks& ranks, std::size_t first_run = 0);
/// Computes what the first rank grants in its run_all(). For all other ranks. False if nothing
/// follows.
bool take_part(Experiment& experiment, const RecordedRuns* before, Progress& progress,
               Ranks& ranks);

}  // namespace popflow
