#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

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
  bool inside = false;                   ///< whether the flow is on its way to the last target
  std::span<const double> targets = {};  ///< times to be recorded, the next one first
  double target = 0;                     ///< the last of them, where a step ends
  /// States at targets within the last steps, each after its time.
  std::vector<double> records = {};
  std::size_t delivered = 0;  ///< how many numbers of `records` the driver has shown
  bool stops = false;  ///< whether the flow leaves its lane with the first state that is recorded
  bool paused = false;
  /// Start of a step, from which the flow can be resumed.
  struct Start {
    State x;
    double t;
    DriverData data;
    std::size_t targets = 0;  ///< number of targets reached since
  };
  // Kept if the flow stops at records: the start of the step with the last ones, and that of the
  // first step whose length the last target has changed.
  std::optional<Start> before = {}, near_end = {};
  StepStatistics counts = {};
  IntervalSteps interval = {};
  IntervalSteps recorded_interval = {};  ///< steps between the last two records, if it stops there
  IntervalSteps after_record = {};       ///< steps since the last record, if it stops there
  Outcome outcome = {};
  bool ended = false;

  /// Whether the flow needs a lane: its last target is ahead, and it has not ended.
  [[nodiscard]] bool is_running() const { return !ended && !paused && control.at.t < target; }
  [[nodiscard]] bool has_record() const { return delivered < records.size(); }
  /// Next time to be recorded within a step; infinity: none.
  [[nodiscard]] double next_save() const {
    return targets.size() > 1 ? targets.front() : std::numeric_limits<double>::infinity();
  }
  /// Adds the state at the next target.
  void add(const State& at) {
    records.push_back(targets.front());
    records.insert(records.end(), at.begin(), at.end());
    targets = targets.subspan(1);
  }
  /// Data of a checkpoint, with this controller, these counts and steps.
  [[nodiscard]] DriverData data(const StepControl<double>& now, const StepStatistics& done,
                                const IntervalSteps& steps) const;
  void end(Outcome how) {
    outcome = std::move(how);
    ended = outcome.kind != Outcome::Kind::interrupted;
  }
};

}  // namespace popflow
