#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "steppers/dense_output.hpp"
#include "steppers/lane_stepper.hpp"
#include "steppers/step_rule.hpp"
#include "steppers/stepper.hpp"

namespace popflow {

/// Description of a method that integrates flows. A new method needs a Stepper and a row in
/// flow_methods.cpp; an embedded Runge-Kutta pair needs its coefficients (verner8_tableau.hpp) and
/// a row.
struct FlowMethod {
  std::string_view name;  ///< value of --method
  StepRule steps = StepRule::adaptive;
  /// Global order of the error; 0 for a method of variable order.
  int order = 0;
  bool needs_jacobian = false;
  /// Whether blocks of a state can be integrated with their own step sizes (flow/block_dopri5.hpp).
  bool has_blocks = false;
  /// Number of states that the method holds for a problem of `size` numbers, including the two
  /// states of the driver.
  double (*states)(double size) = nullptr;
  /// Number of additional states for dense output.
  double dense_output_states = 0;
  /// Creates the stepper. Throws UsageError if the System lacks what the method needs.
  std::unique_ptr<Stepper> (*make)(Rhs& rhs, const Tolerance& tolerance,
                                   Workers& workers) = nullptr;
  // Creates the stepper for small flows in SIMD lanes (flow/flow_lanes.hpp); null for methods that
  // have none. Steps in lanes have the same dense output as steps of a single trajectory.
  std::unique_ptr<LaneStepper> (*make_lanes)(const LaneFormulas& formulas,
                                             ErrorNorm norm) = nullptr;
  std::unique_ptr<DenseOutput> (*make_dense_output)(Workers& workers) = nullptr;
  [[nodiscard]] bool has_lanes() const { return make_lanes != nullptr; }
};

/// All methods of flows; the first one is the default.
std::span<const FlowMethod> flow_methods();

/// The method of this name; null if there is none.
const FlowMethod* find_flow_method(std::string_view name);

/// The method of this name. Throws UsageError with the names of all if there is none.
const FlowMethod& flow_method(std::string_view name);

/// The explicit adaptive method of the highest fixed order, used to compute references.
const FlowMethod& most_accurate_flow_method();

}  // namespace popflow
