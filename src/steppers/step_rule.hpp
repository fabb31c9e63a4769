#pragma once

namespace popflow {

/// Source of a method's step size.
enum class StepRule {
  adaptive,       ///< a step-size controller with an error estimate
  fixed,          ///< --dt, which is required
  of_dt,          ///< --dt, which has a default
  learning_rate,  ///< the learning rate
};

}  // namespace popflow
