#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "popflow/flow_driver.hpp"
#include "popflow/system.hpp"
#include "popflow/trajectory_file.hpp"
#include "run/layout.hpp"
#include "run/restart.hpp"
#include "run/schedule.hpp"

namespace popflow {

/// Decides what of a run goes into its file, and when. Data are written before the count that
/// says that they are there.
class Recorder {
 public:
  struct Options {
    StateSaves state = StateSaves::all;
    double checkpoint_every = 30;    ///< seconds
    std::int64_t next_sequence = 0;  ///< of the restart slots
  };
  Recorder(const System& system, TrajectoryFile& file, Schedule schedule, Options options);

  [[nodiscard]] const Schedule& schedule() const { return schedule_; }

  /// The run has arrived at save i of the schedule.
  void save(std::size_t i, const FlowDriver& driver);
  /// The run has ended before save i: that save takes the time and state of the stop.
  void stop(std::size_t i, const FlowDriver& driver);
  /// The full state at the start, where only the ends are kept.
  void start_state(const FlowDriver& driver);
  /// Restart data now, `next` being the save that the run is on its way to.
  void checkpoint(std::size_t next, const FlowDriver& driver) { checkpoint(next, driver, false); }

 private:
  void checkpoint(std::size_t next, const FlowDriver& driver, bool ended);
  void record(std::size_t i, const FlowDriver& driver);
  void record_state(std::size_t row, const FlowDriver& driver);
  void record_steps(std::size_t i, const FlowDriver& driver);
  void record_work(const FlowDriver& driver);
  void record_events(const FlowDriver& driver);
  void record_passages(const FlowDriver& driver);

  const System& system_;
  TrajectoryFile& file_;
  Schedule schedule_;
  Options options_;
  RestartWriter restart_;
  std::chrono::steady_clock::time_point last_checkpoint_;
  std::vector<std::size_t> field_sizes_;
};

}  // namespace popflow
