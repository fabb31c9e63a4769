#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "flow/step_control.hpp"
#include "lanes/lane_rows.hpp"
#include "popflow/driver.hpp"

namespace popflow {

/// StepControl of the flows in all lanes. Most steps are taken without examining any single flow.
class LanePace {
 public:
  enum Row : std::size_t {
    busy,       ///< 1 where a flow is under way, 0 elsewhere
    t,          ///< time, always below the target
    remainder,  ///< rounding remainder, of FineTime
    target,
    save,            ///< next time to be recorded within a step; infinity: none
    length,          ///< next step length, of StepControl
    longest,         ///< longest step, of StepBounds
    cautious_since,  ///< of StepBounds
    retry,           ///< of StepControl: 1 or 0
    finite,          ///< of StepControl: 1 or 0
    jumps,           ///< 1 if the System jumps, of StepControl
    steps_left,      ///< number of steps until the step limit
    accepted,        ///< number of accepted steps since begin()
    rejected,        ///< number of rejected steps since begin()
    number,          ///< number of steps, of IntervalSteps
    smallest,
    largest,
    taken,     ///< 1 if the last step was accepted, or 0
    step,      ///< length of the last step
    t_before,  ///< time at which the last step began
    examine,   ///< 1 where the flow must be examined (see judge()), 0 elsewhere
    rows
  };

  [[nodiscard]] double at(Row row, std::size_t lane) const { return rows_.at(row, lane); }
  [[nodiscard]] const double* row(Row row) const { return rows_.data() + row * kLanes; }

  /// State of the controller of a flow in a lane.
  struct Flow {
    StepControl<double> control = {.length = 1, .finite = true};
    double target = 1;
    double save = std::numeric_limits<double>::infinity();
    std::int64_t steps_left = 0;
    IntervalSteps interval = {};
    std::int64_t accepted = 0;
    std::int64_t rejected = 0;
  };
  /// Time of the lane's flow, including the rounding error that row `t` drops.
  [[nodiscard]] double now(std::size_t lane) const { return at(t, lane) + at(remainder, lane); }
  /// Puts a flow into the lane and writes the length of its first step to `h` (one row).
  void begin(std::size_t lane, const Flow& flow, LaneRows& h);
  [[nodiscard]] Flow flow(std::size_t lane) const;
  /// Sets the next time to be recorded.
  void expect(std::size_t lane, double time) { rows_.at(save, lane) = time; }
  /// Marks the lane as empty: its steps have length zero.
  void idle(std::size_t lane, LaneRows& h);

  /// Accepts or rejects the last step, of length h, in every lane, by its error and the factor for
  /// the next step length; writes the next length to h. `seen` is not 0 where an event or a passage
  /// may have happened in the step. All arguments have one row.
  ///
  /// Returns true if any flow must be examined. A flow must be examined if
  ///
  /// - its step was accepted and reached the target, or contains an event or a time to be recorded
  /// - its step was not finite
  /// - the flow may not take another step
  bool judge(const LaneRows& error, const LaneRows& factor, const LaneRows& seen, LaneRows& h);
  /// Whether the lane's flow may take another step: it has steps left, and its step length is not
  /// below the smallest step.
  [[nodiscard]] bool can_step(std::size_t lane) const;

 private:
  LaneRows rows_{rows};
};

/// Marks lanes in which an awaited change of sign has come: in `reached` (one row) writes 1 where,
/// in any row, `values` is non-negative and `awaited` is 1, or negative and -1. Other entries stay
/// as they are.
void add_reached(std::size_t rows, const LaneRows& awaited, const LaneRows& values,
                 LaneRows& reached);

}  // namespace popflow
