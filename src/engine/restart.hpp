#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "file/stored_file.hpp"
#include "file/trajectory_group.hpp"
#include "plan/schedule.hpp"
#include "popflow/data_file.hpp"
#include "popflow/driver.hpp"
#include "popflow/error.hpp"
#include "popflow/state.hpp"
#include "popflow/system.hpp"

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
  /// Slots from which a run that has not closed its file is resumed: it may have been killed after
  /// the slot of its stop, and reaches that stop again from the slot before.
  resumable,
};

/// The slots of all runs of a file. What tells them apart is read once, however many runs there
/// are: slots that are written later are not seen. The file and the System must outlive it.
class RestartReader {
 public:
  /// Throws InputError if the file has no slots, or if their states are not of this system's form.
  RestartReader(const DataFile& file, const System& system);

  /// Throws InputError if what the slots hold of a driver is not of the form of `data`.
  void require(const DriverData& data) const;
  /// The newest intact slot of a run, or nothing. Throws as require().
  [[nodiscard]] std::optional<Restart> find(const DriverData& data, std::size_t run,
                                            Slots which) const;
  /// As find(); throws InputError if there is none.
  [[nodiscard]] Restart read(const DriverData& data, std::size_t run, Slots which) const;
  /// The newest intact state of a run, whatever driver moved it there. Throws as read() does.
  [[nodiscard]] Restart read_state(std::size_t run, Slots which) const;

 private:
  /// A slot as it is in the file, without names for the driver's numbers.
  struct Slot {
    Restart restart;
    std::vector<double> data;
  };
  [[nodiscard]] std::optional<Slot> find_slot(std::size_t run, Slots which) const;
  [[nodiscard]] InputError other_layout() const;

  const DataFile& file_;
  const System& system_;
  std::size_t regime_;
  // For each slot.
  std::vector<double> times_;
  std::vector<std::int64_t> saves_, ended_, sequence_, sums_;
};

/// Throws InputError where a file has slots of a run, and none of them is intact. Knows nothing of
/// its System.
void require_intact_slots(const StoredFile& file);

/// How the schedule of a file's run continues beyond its end.
Spacing read_spacing(const DataFile& file);

}  // namespace popflow
