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

/// Checkpoint: data from which a run can be resumed.
struct Restart {
  State x;
  Regime regime;
  double t = 0;
  std::int64_t saves = 0;      ///< place of the next save in the schedule
  bool ended = false;          ///< whether the run stopped here before its end
  std::int64_t sequence = -1;  ///< sequence number of the slot; the newest has the largest
  DriverData data;             ///< empty if only the state was requested
};

/// Group of the checkpoints: two slots per run, written alternately, each with a checksum of its
/// contents. One of them is therefore always intact.
GroupSpec restart_group(const System& system, const Spacing& spacing, const DriverData& data,
                        std::size_t runs);

/// Writes the slots of one run.
class RestartWriter {
 public:
  /// `next`: sequence number of the first slot to be written.
  RestartWriter(const TrajectoryGroup& file, std::size_t run, std::int64_t next)
      : file_(file), run_(run), sequence_(next) {}
  void write(const ResumePoint& point, std::int64_t saves, bool ended);

 private:
  TrajectoryGroup file_;
  std::size_t run_;
  std::int64_t sequence_;
};

/// Slots of a file that a reader may use.
enum class Slots {
  all,
  /// Slots from which a run whose file is not closed can be resumed. Such a run may have been
  /// killed after it wrote the slot of its stop; it resumes from the slot before and reaches that
  /// stop again.
  resumable,
};

/// Reads the slots of all runs of a file. The sequence numbers and checksums of all slots are read
/// once, at construction; slots that are written later are not seen. The file and the System must
/// outlive the reader.
class RestartReader {
 public:
  /// Throws InputError if the file has no slots, or if their states do not fit this system.
  RestartReader(const DataFile& file, const System& system);

  /// Throws InputError if the stored driver data do not have the layout of `data`.
  void require(const DriverData& data) const;
  /// Returns the newest intact slot of a run; empty if there is none. Throws like require().
  [[nodiscard]] std::optional<Restart> find(const DriverData& data, std::size_t run,
                                            Slots which) const;
  /// Like find(), but throws InputError if there is no intact slot.
  [[nodiscard]] Restart read(const DriverData& data, std::size_t run, Slots which) const;
  /// Returns the newest intact state of a run, for any kind of driver. Throws like read().
  [[nodiscard]] Restart read_state(std::size_t run, Slots which) const;

 private:
  /// Slot as stored in the file, without names for the driver's numbers.
  struct Slot {
    Restart restart;
    std::vector<double> data;
  };
  [[nodiscard]] std::optional<Slot> find_slot(std::size_t run, Slots which) const;
  [[nodiscard]] InputError other_layout() const;

  const DataFile& file_;
  const System& system_;
  std::size_t regime_;
  // One entry for each slot:
  std::vector<double> times_;
  std::vector<std::int64_t> saves_, ended_, sequence_, sums_;
};

/// Throws InputError if a file has slots of a run, none of which is intact. Does not need the
/// System.
void require_intact_slots(const StoredFile& file);

/// Reads the spacing by which the schedule of the file's run continues beyond its end.
Spacing read_spacing(const DataFile& file);

}  // namespace popflow
