#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "popflow/flow_driver.hpp"
#include "popflow/lanes.hpp"

namespace popflow {

/// Whether flows by this method are integrated in lanes if the System has lanes. Flows that may
/// stop early (steady or stuck) are integrated one by one.
bool supports_flow_lanes(FlowMethodRow method, bool may_stop_early);
/// Whether flows of this System can be integrated in lanes by this method.
bool has_flow_lanes(const System& system, FlowMethodRow method, bool may_stop_early);

/// Integrates any number of flows, each with its own System and options, in SIMD lanes. Flows with
/// the same LaneFormulas and method share a batch; when a flow reaches its target, its lane takes
/// the next one. The result of a flow does not depend on the other flows.
class FlowLanes {
 public:
  struct Flow {
    const System* system;
    FlowDriver::Options options;
  };
  /// `interrupted` is called from time to time.
  FlowLanes(std::vector<Flow> flows, const std::function<bool()>& interrupted);
  ~FlowLanes();

  /// Advances each flow that has not ended to the first of its targets, and possibly further: the
  /// states at later targets are kept. Call advance() of its driver with the same targets to learn
  /// the state or how the flow ended. The targets must outlive the flows.
  void advance(std::span<const std::span<const double>> targets);
  /// Advances each flow that has not ended to its end.
  void advance(std::span<const double> ends);
  /// Whether flow i has reached the next of its targets, or ended: advance() of its driver then
  /// takes no step.
  [[nodiscard]] bool is_ready(std::size_t i) const;
  /// Takes the states that flow i has reached at the next of its targets but the last, each after
  /// its time; its driver then continues behind them. Valid until advance() is called.
  std::span<const double> take_records(std::size_t i);
  /// Drivers of all flows, in order. Advancing a driver beyond its target moves its flow alone.
  [[nodiscard]] std::vector<std::unique_ptr<Driver>> drivers() const;

 private:
  class Group;
  class OneFlow;
  struct Place {
    std::size_t group, number;
  };
  std::vector<std::shared_ptr<Group>> groups_;
  std::vector<Place> places_;  ///< place of each flow
};

}  // namespace popflow
