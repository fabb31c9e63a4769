#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include "flow/lane_flow.hpp"
#include "flow/lane_pace.hpp"
#include "flow/step_within.hpp"
#include "steppers/lane_stepper.hpp"

namespace popflow {

/// Flows with the same formulas and error norm. Flows from index `next` on wait for a lane.
struct LaneQueue {
  std::vector<LaneFlow> flows;
  std::size_t next = 0, end = 0;
  std::size_t events = 0, passages = 0;  ///< largest number in any flow
  /// Whether any event is an extremum. If so, every step is searched, because the event function at
  /// the end of a step does not show an extremum within it.
  bool extrema = false;
};

/// Integrates up to kLanes flows at once, one per lane. When a flow reaches its target, its lane
/// takes the next one of the queue. The result of a flow does not depend on the other flows.
class LaneBank {
 public:
  LaneBank(const LaneFormulas& formulas, const FlowMethod& method, ErrorNorm norm,
           LaneQueue& queue);
  LaneBank(const LaneBank&) = delete;
  LaneBank& operator=(const LaneBank&) = delete;

  /// Gives each lane a flow, as long as the queue has any.
  void fill();
  [[nodiscard]] bool moves() const { return moving_ > 0; }
  /// Tries one step in all lanes.
  void step();
  /// Calls tell(flow, t) for all flows in lanes.
  template <class Tell>
  void each(Tell tell) const {
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      if (in_lane_[lane] != kNone) tell(flow_in(lane), pace_.at(LanePace::t, lane));
  }
  /// Stores the state of every lane back into its flow.
  void leave();

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  [[nodiscard]] LaneFlow& flow_in(std::size_t lane) const { return queue_.flows[in_lane_[lane]]; }
  /// Gives the lane the next flow that has not reached its target.
  void fill(std::size_t lane);
  /// Writes the flow into its lane.
  void load(std::size_t lane);
  /// Starts the flows that have just been given a lane.
  void begin_fresh();
  /// Stores the state of the lane back into its flow.
  void leave(std::size_t lane);
  /// Examines the steps just tried in the lanes that need it.
  void examine_steps();
  /// Gives the lanes of flows that arrived or failed to the next flows.
  void replace();
  /// Records why the lane's flow cannot take another step.
  void end_stuck(std::size_t lane);
  /// Updates which events and passages of the lane are still to come.
  void watch(std::size_t lane);
  /// Whether an extremum may have happened in the last step of the lane's flow.
  [[nodiscard]] bool extremum_in(std::size_t lane);
  struct Step {
    double t, h, t_new;
  };
  /// Prepares `within_` for the last step of the lane's flow.
  Step begin_within(std::size_t lane);
  void locate_within(std::size_t lane, const Step& step);
  /// Start of the last step, of a flow that stops at records. Events must not have been located.
  [[nodiscard]] LaneFlow::Start start_of_step(std::size_t lane) const;
  /// Records the states at the targets within the last step of the lane's flow.
  void record_within(std::size_t lane, const Step& step);
  /// Counts of the flow, including those of its time in the lane.
  [[nodiscard]] StepStatistics counts(const LaneFlow& flow, const LanePace::Flow& at) const;

  const LaneFormulas& formulas_;
  LaneQueue& queue_;
  std::size_t entries_;
  Workers alone_{1};
  std::unique_ptr<LaneStepper> stepper_;
  LaneStepper& steps_;
  LanePace pace_;
  LaneRows fresh_{1}, seen_{1};
  LaneRows values_,
      watched_;  ///< values of events and the changes they await: one row for each event
  LaneRows passing_,
      awaited_;  ///< values of passages and the changes they await: one row for each item
  std::array<std::size_t, kLanes> in_lane_;
  std::size_t moving_ = 0;  ///< number of lanes that have a flow
  bool any_fresh_ = false;
  bool any_awaited_ = false;  ///< whether any flow in a lane has items that have not passed yet
  State slope_;
  StepWithin within_;
  /// Controllers before the last step, of the flows that stop at records.
  std::array<LanePace::Flow, kLanes> before_;
  bool any_stops_ = false;  ///< whether any flow in a lane stops at records
  std::vector<double> of_;  ///< parameters of the formulas for one lane
  /// Event functions and heights of one lane, needed only with extrema.
  std::vector<double> known_;
};

}  // namespace popflow
