#pragma once

#include <memory>
#include <vector>

#include "flow/flow_lanes.hpp"
#include "popflow/driver.hpp"
#include "support/subject.hpp"

namespace popflow::test {

using Subjects = std::vector<std::unique_ptr<Subject>>;

/// Returns flows of the systems, to be integrated in SIMD lanes.
inline std::vector<FlowLanes::Flow> flows_of(const Subjects& subjects,
                                             const FlowDriver::Options& options = {}) {
  std::vector<FlowLanes::Flow> flows;
  for (const auto& subject : subjects) flows.push_back({subject->system.get(), options});
  return flows;
}

/// Returns a driver's state as numbers, to be compared bit by bit.
inline std::vector<double> numbers(const Driver& driver) {
  return {driver.state().begin(), driver.state().end()};
}

}  // namespace popflow::test
