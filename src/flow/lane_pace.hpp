#pragma once

#include <cstddef>
#include <cstdint>

#include "flow/step_control.hpp"
#include "lane_rows.hpp"
#include "popflow/driver.hpp"

namespace popflow {

/// StepControl of the flows in all lanes. Most steps are taken without examining any single flow.
class LanePace {
 public:
  enum Row : std::size_t {
    busy,    ///< 1 where a flow is under way, 0 elsewhere
    t,       ///< time, always below the target
    beside,  ///< rounding remainder, of FineTime
    target,
    length,          ///< of StepControl
    longest,         ///< of StepBounds
    cautious_since,  ///< of StepBounds
    retry,           ///< of StepControl: 1 or 0
    finite,          ///< of StepControl: 1 or 0
    jumps,           ///< steps, counted since begin()
    steps_left,
    accepted,  ///< steps, since begin()
    rejected,
    number,  ///< of IntervalSteps
    smallest,
    largest,
    taken,     ///< 1 if the last step was accepted, or 0
    step,      ///< its length
    t_before,  ///< where it began
    calls,     ///< 1 where a flow must be looked at: see judge(); or 0
    rows
  };

  [[nodiscard]] double at(Row row, std::size_t lane) const { return rows_.at(row, lane); }
  [[nodiscard]] const double* row(Row row) const { return rows_.data() + row * kLanes; }

  /// A flow in a lane.
  struct Flow {
    StepControl<double> control = {.length = 1, .finite = true};
    double target = 1;
    std::int64_t steps_left = 0;
    IntervalSteps interval = {};
    std::int64_t accepted = 0;
    std::int64_t rejected = 0;
  };
  /// Time of the lane's flow, including the rounding error that row `t` drops.
  [[nodiscard]] double now(std::size_t lane) const { return at(t, lane) + at(beside, lane); }
  /// Writes the length of its first step into `h` (one row).
  void begin(std::size_t lane, const Flow& flow, LaneRows& h);
  [[nodiscard]] Flow flow(std::size_t lane) const;
  /// The lane has no flow: its steps are of no length.
  void idle(std::size_t lane, LaneRows& h);

  /// Takes or rejects the last step, of length h, by its error and the factor that follows from it;
  /// `seen` is not 0 where something happened on the way. All have one row; the next step's length
  /// is written to h. Returns true if any flow must be looked at: one whose step was accepted and
  /// has reached the target, or in which something happened, whose step was not finite, or that may
  /// not go on.
  bool judge(const LaneRows& error, const LaneRows& factor, const LaneRows& seen, LaneRows& h);
  /// Whether the lane's flow may take another step: neither the number of steps nor the smallest
  /// step is exceeded.
  [[nodiscard]] bool may_go_on(std::size_t lane) const;

 private:
  LaneRows rows_{rows};
};

/// Writes 1 into `reached` (one row) where a value is not negative in a row that is watched (not
/// 0), 0 elsewhere, or leaves what is there, if it is not 0.
void add_reached(std::size_t rows, const LaneRows& watched, const LaneRows& values,
                 LaneRows& reached);

}  // namespace popflow
