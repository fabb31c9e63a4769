#pragma once

#include <optional>
#include <string>
#include <vector>

#include "file/trajectory_group.hpp"
#include "popflow/data_file.hpp"
#include "popflow/driver.hpp"
#include "popflow/state.hpp"
#include "popflow/system.hpp"
#include "run/schedule.hpp"

namespace popflow {

/// Where a run can be resumed.
struct Restart {
  State x;
  Regime regime;
  double t = 0;
  std::int64_t saves = 0;      ///< the next save's place in the schedule
  bool ended = false;          ///< the run stopped there before its end
  std::int64_t sequence = -1;  ///< of the slot; the newer is the larger
  DriverData data;             ///< empty when only the state was requested
};

/// Two slots a run, written in turn, each with a checksum over all it holds: one is always intact.
GroupSpec restart_group(const System& system, const Spacing& spacing, const DriverData& data,
                        std::size_t runs);

/// Writes the slots of one run.
class RestartWriter {
 public:
  /// `next` is the sequence number of the first slot it writes.
  RestartWriter(const TrajectoryGroup& file, std::size_t run, std::int64_t next)
      : file_(file), run_(run), sequence_(next) {}
  void write(const ResumePoint& point, std::int64_t saves, bool ended);

 private:
  TrajectoryGroup file_;
  std::size_t run_;
  std::int64_t sequence_;
};

/// Which slots of a file are considered.
enum class Slots {
  all,
  /// Those from which a run that has not closed its file is resumed: it may have been killed after
  /// the slot of its stop, and reaches that stop again from the slot before.
  resumable,
};

/// The newest intact slot of a run, or nothing. Throws InputError if the file has no slots, or if
/// what they hold is laid out in another way than this system's state and a driver's `data`.
std::optional<Restart> find_restart(const DataFile& file, const System& system,
                                    const DriverData& data, std::size_t run, Slots which);
/// The same; throws InputError if there is none.
Restart read_restart(const DataFile& file, const System& system, const DriverData& data,
                     std::size_t run, Slots which);
/// The newest intact state of a run, whatever driver moved it there. Throws as read_restart() does.
Restart read_state(const DataFile& file, const System& system, std::size_t run, Slots which);

/// How the schedule of a file's run continues beyond its end.
Spacing read_spacing(const DataFile& file);

}  // namespace popflow
