#pragma once

namespace popflow {

/// The rule by which a method takes the length of its steps.
enum class StepRule {
  adaptive,       ///< a step-size controller with an error estimate
  fixed,          ///< --dt, which must be given
  of_dt,          ///< --dt, which has a default
  learning_rate,  ///< the learning rate
};

}  // namespace popflow
