#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "popflow/flow_driver.hpp"
#include "popflow/lanes.hpp"

namespace popflow {

/// Are flows by this method integrated in lanes, where there are any? Those that may stop early,
/// when steady or stuck, are not.
bool flow_lanes_take(const std::string& method, bool may_stop_early);
/// Can flows of this System be, by this method?
bool has_flow_lanes(const System& system, const std::string& method, bool may_stop_early);

/// Any number of flows, each with a System and options of its own, integrated side by side with
/// those of the same LaneFormulas and method; a lane whose flow has arrived takes the next. A
/// flow's result depends on nothing but the flow itself.
class FlowLanes {
 public:
  struct Flow {
    const System* system;
    FlowDriver::Options options;
  };
  /// `interrupted` is asked every so often.
  FlowLanes(std::vector<Flow> flows, const std::function<bool()>& interrupted);
  ~FlowLanes();

  /// Moves each flow that has not ended to its target; its driver's advance() to the same target
  /// then says how it ended.
  void advance(std::span<const double> targets);
  /// Of all flows, in order. A driver that is advanced further moves its flow alone.
  [[nodiscard]] std::vector<std::unique_ptr<Driver>> drivers() const;

 private:
  class Group;
  class OneFlow;
  struct Place {
    std::size_t group, number;
  };
  std::vector<std::shared_ptr<Group>> groups_;
  std::vector<Place> places_;  ///< of each flow
};

}  // namespace popflow
