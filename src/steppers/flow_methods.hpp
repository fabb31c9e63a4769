#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "steppers/dense_output.hpp"
#include "steppers/lane_stepper.hpp"
#include "steppers/step_rule.hpp"
#include "steppers/stepper.hpp"

namespace popflow {

/// A method that integrates flows: all that the program knows of it. A new method is a Stepper and
/// a row in flow_methods.cpp; an embedded Runge-Kutta pair is its coefficients
/// (verner8_tableau.hpp) and a row.
struct FlowMethod {
  std::string_view name;  ///< as --method takes it
  StepRule steps = StepRule::adaptive;
  /// Global order of the error; 0 for a method that chooses its order as it goes.
  int order = 0;
  bool needs_jacobian = false;
  /// Integrates blocks of a state with step sizes of their own, too (flow/block_dopri5.hpp).
  bool has_blocks = false;
  /// States of the problem's size that the method holds, those two of the driver included, for a
  /// problem of `size` numbers.
  double (*states)(double size) = nullptr;
  /// States that dense output needs beside these.
  double dense_output_states = 0;
  /// Throws UsageError if the System lacks what the method needs.
  std::unique_ptr<Stepper> (*make)(Rhs& rhs, const Tolerance& tolerance,
                                   Workers& workers) = nullptr;
  // For methods that integrate small flows in SIMD lanes, too (flow/flow_lanes.hpp); null for
  // others. Steps in lanes have the dense output of those of a trajectory alone.
  std::unique_ptr<LaneStepper> (*make_lanes)(const LaneFormulas& formulas,
                                             ErrorNorm norm) = nullptr;
  std::unique_ptr<DenseOutput> (*make_dense_output)(Workers& workers) = nullptr;
  [[nodiscard]] bool has_lanes() const { return make_lanes != nullptr; }
};

/// All methods of flows. The first one is the default.
std::span<const FlowMethod> flow_methods();

/// The method of this name; null if there is none.
const FlowMethod* find_flow_method(std::string_view name);

/// The method of this name. Throws UsageError with the names of all if there is none.
const FlowMethod& flow_method(std::string_view name);

/// The explicit adaptive method of the highest fixed order: the one that references are computed
/// with.
const FlowMethod& most_accurate_flow_method();

}  // namespace popflow
