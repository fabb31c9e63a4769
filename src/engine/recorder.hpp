#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "engine/held_records.hpp"
#include "engine/restart.hpp"
#include "engine/trajectory.hpp"
#include "file/trajectory_group.hpp"
#include "plan/plan.hpp"
#include "popflow/driver.hpp"
#include "popflow/system.hpp"

namespace popflow {

/// Decides which data of a run are written to its file, and when. Several recorders may write
/// different runs of one file at the same time. Data are written before the count that declares
/// them.
class Recorder final : public TrajectorySink {
 public:
  struct Options {
    StateSaves state = StateSaves::all;
    double checkpoint_every = 30;    ///< seconds
    std::int64_t next_sequence = 0;  ///< sequence number of the next restart slot
    bool ensemble = false;           ///< whether the file has a dimension run
    std::size_t run = 0;             ///< place of the run in the file
    std::size_t number = 0;          ///< number of the run in its ensemble
    std::int64_t saves_done = 0;     ///< number of saves that the file holds already
  };
  /// `saves`: number of save times, the same for every run of the file.
  Recorder(const System& system, const TrajectoryGroup& file, std::size_t saves, Options options);

  /// Records the full state if only the states at the ends are kept.
  void start(const Driver& driver) override;
  void save(std::size_t i, const Driver& driver) override;
  /// Records the time and state of the stop as save i.
  void stop(std::size_t i, bool saved, const Driver& driver) override;
  /// Records events and passages so far, and a checkpoint.
  void interrupt(std::size_t next, const Driver& driver) override;
  /// Records how the run ended, if the file holds more than one run.
  void finish(const Outcome& outcome, const Driver& driver) override;
  /// Writes the held records if they are due. Called between steps, so that records reach the file
  /// even if the next save is far away.
  void write_between_steps() { held_.write_between_steps(); }
  /// Writes the held records, before an exception ends the run.
  void write_held() { held_.write(); }

 private:
  /// Writes a checkpoint; `next` is the place of the next save. If the run is over (`last`), also
  /// writes its last state, if that is not the state of the checkpoint.
  void checkpoint(std::size_t next, const Driver& driver, bool last = false);
  /// Writes the state at the end of the run, from which it cannot be resumed.
  void write_end(std::size_t next, const Driver& driver, ResumePoint point);
  void sync();
  void record(std::size_t i, const Driver& driver);
  /// Row of save i of this run among the rows of all runs.
  [[nodiscard]] std::size_t place(std::size_t i) const;
  void record_state(std::size_t row, const Driver& driver);
  void record_steps(std::size_t i, const Driver& driver);
  /// Records quantities of the run as a whole.
  void record_so_far(const Driver& driver);
  void record_work(const Driver& driver);
  void record_events(const Driver& driver);
  void record_passages(const Driver& driver);

  const System& system_;
  TrajectoryGroup file_;
  HeldRecords held_;
  std::size_t saves_;
  Options options_;
  RestartWriter restart_;
  Capabilities can_;
  std::chrono::steady_clock::time_point last_checkpoint_;
  std::vector<std::size_t> field_sizes_;
};

}  // namespace popflow
