#pragma once

#include <span>
#include <string_view>

#include "steppers/step_rule.hpp"

namespace popflow {

/// A method that integrates the population flow with Gaussian noise: all that the program knows of
/// it. SdeDriver documents the methods' orders.
struct SdeMethod {
  /// One step of the state.
  enum class Scheme {
    euler,  ///< Euler and Maruyama's, which allows any noise
    heun,   ///< the improved Euler drift
    sra1,   ///< Roessler's (2010, table 6.3)
  };
  std::string_view name;  ///< as --method takes it
  StepRule steps = StepRule::of_dt;
  Scheme scheme = Scheme::euler;

  /// Schemes that are right only where the noise does not depend on the state.
  [[nodiscard]] bool needs_additive_noise() const { return scheme != Scheme::euler; }
  /// Ensembles are integrated in SIMD lanes, too (noise/sde_lanes.hpp).
  [[nodiscard]] bool has_lanes() const { return scheme == Scheme::euler; }
};

/// All methods of mode sde. The first one is the default.
std::span<const SdeMethod> sde_methods();

/// The method of this name. Throws UsageError with the names of all if there is none.
const SdeMethod& sde_method(std::string_view name);

}  // namespace popflow
