#pragma once

#include <utility>

#include "flow/event_watch.hpp"
#include "flow/passages.hpp"
#include "flow/step_control.hpp"
#include "popflow/flow_driver.hpp"
#include "popflow/lanes.hpp"
#include "steppers/tolerance.hpp"

namespace popflow {

/// Flow that is integrated in lanes part of the time: its state while it has no lane, and the
/// events found so far.
struct LaneFlow {
  LaneFlow(const System& of, FlowDriver::Options how, const Capabilities& can)
      : system(&of),
        lanes(can.in_lanes),
        training(can.training),
        options(std::move(how)),
        control{.length = options.dt.value_or(0),
                .bounds = {.longest = options.max_step.value_or(can.longest_step)},
                .jumps = can.jumps,
                .finite = true},
        tolerance(system->shape().blocks, options.rtol, options.atol, options.error_norm),
        events(*system, can.events),
        passages(*system, can.events),
        x(system->shape().state_size()) {
    system->start(x);
    events.start({x, {}}, 0);
    passages.start({x, {}}, 0);
  }
  const System* system;
  Capability<InLanes> lanes;
  Capability<Training> training;
  FlowDriver::Options options;
  StepControl<double> control;
  Tolerance tolerance;
  EventWatch events;
  Passages passages;
  State x;
  bool inside = false;  ///< whether the flow is within an interval between targets
  double target = 0;
  StepStatistics counts = {};
  IntervalSteps interval = {};
  Outcome outcome = {};
  bool ended = false;

  /// Whether the flow has not reached its target and has not ended.
  [[nodiscard]] bool is_running() const { return !ended && control.at.t < target; }
  void end(Outcome how) {
    outcome = std::move(how);
    ended = outcome.kind != Outcome::Kind::interrupted;
  }
};

}  // namespace popflow
