#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include "flow/lane_pace.hpp"
#include "flow/step_within.hpp"
#include "flow/trajectory.hpp"
#include "steppers/lane_stepper.hpp"

namespace popflow {

/// Flows with the same formulas and norm, of which the first from `next` on wait for a lane.
struct LaneQueue {
  std::vector<Trajectory> flows;
  std::size_t next = 0, end = 0;
  std::size_t events = 0, passages = 0;  ///< at most, of a flow
  /// Are there extrema among the events? Then every step is looked at, for what follows from them
  /// is not seen from one step alone.
  bool extrema = false;
};

/// One lane each for kLanes flows on their way; a lane whose flow has arrived takes the next of the
/// queue. A flow's result depends on nothing but the flow itself.
class LaneBank {
 public:
  LaneBank(const LaneFormulas& formulas, const FlowMethod& method, ErrorNorm norm,
           LaneQueue& queue);
  LaneBank(const LaneBank&) = delete;
  LaneBank& operator=(const LaneBank&) = delete;

  /// Gives all lanes flows, as far as there are any.
  void fill();
  [[nodiscard]] bool moves() const { return moving_ > 0; }
  /// Tries a step in all lanes.
  void step();
  /// Calls tell(flow, t) for all that are on their way.
  template <class Tell>
  void each(Tell tell) const {
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      if (in_lane_[lane] != kNone) tell(flow_in(lane), pace_.at(LanePace::t, lane));
  }
  /// Takes down where they all are: none is to move on now.
  void leave();

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  [[nodiscard]] Trajectory& flow_in(std::size_t lane) const { return queue_.flows[in_lane_[lane]]; }
  /// Gives the lane the next flow that is under way.
  void fill(std::size_t lane);
  /// Begins with the flows that have just been given a lane.
  void begin_fresh();
  /// Takes down where the lane's flow is, which is not to move on now.
  void leave(std::size_t lane);
  /// Of the steps that have been tried, looks at those that call for it.
  void look_at_steps();
  /// Flows that have arrived, or cannot go on, leave their lanes to the next ones.
  void replace();
  /// Says why the lane's flow cannot take a step more.
  void end_stuck(std::size_t lane);
  /// Which of the lane's events and passages are still to come?
  void watch(std::size_t lane);
  /// May an extremum have happened in the step that the lane's flow has taken?
  [[nodiscard]] bool extremum_in(std::size_t lane);
  void look_within(std::size_t lane);

  const LaneFormulas& formulas_;
  LaneQueue& queue_;
  std::size_t entries_;
  Workers alone_{1};
  std::unique_ptr<LaneStepper> stepper_;
  LaneStepper& steps_;
  LanePace pace_;
  LaneRows fresh_{1}, seen_{1};
  LaneRows values_, watched_;   ///< of events
  LaneRows passing_, awaited_;  ///< of passages
  std::array<std::size_t, kLanes> in_lane_;
  std::size_t moving_ = 0;  ///< lanes that have a flow
  bool any_fresh_ = false;
  bool any_awaited_ = false;  ///< has any flow that moves items that have not passed yet?
  State slope_;
  StepWithin within_;
  std::vector<double> of_;
  std::vector<double> known_;  ///< of a lane whose events are extrema: its column of values_
};

}  // namespace popflow
