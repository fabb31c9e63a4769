#pragma once

#include <span>
#include <string_view>

#include "steppers/step_rule.hpp"

namespace popflow {

/// Description of a method that integrates the population flow with Gaussian noise. SdeDriver
/// documents the orders of the methods.
struct SdeMethod {
  /// Scheme of one step.
  enum class Scheme {
    euler,  ///< Euler-Maruyama, which allows any noise
    heun,   ///< improved Euler for the drift
    sra1,   ///< Roessler (2010, table 6.3)
  };
  std::string_view name;  ///< value of --method
  StepRule steps = StepRule::of_dt;
  Scheme scheme = Scheme::euler;

  /// Whether the scheme is correct only for additive noise: noise that does not depend on the
  /// state.
  [[nodiscard]] bool needs_additive_noise() const { return scheme != Scheme::euler; }
  /// Whether ensembles can also be integrated in SIMD lanes (noise/sde_lanes.hpp).
  [[nodiscard]] bool has_lanes() const { return scheme == Scheme::euler; }
};

/// All methods of mode sde. The first one is the default.
std::span<const SdeMethod> sde_methods();

/// Returns the method of this name. Throws UsageError with the allowed names if there is none.
const SdeMethod& sde_method(std::string_view name);

}  // namespace popflow
