#pragma once

#include <vector>

#include "compare/comparison.hpp"

namespace popflow {

/// Effect of an SDE solver's step size: the mean over a few runs of the values with steps of dt
/// minus those with steps of 2 dt on the same Brownian path. For a method of weak order 1 this is
/// about the solver's own error at dt.
struct StepEffect {
  /// Values per observable and save time.
  std::vector<std::vector<double>> mean, error;
};

/// Returns whether the rung's step size is a choice of the solver.
bool has_step_effect(const Rung& rung);

/// Measures the effect. `paths` are the runs with their own step size. Returns false if
/// interrupted.
bool measure_step_effect(const Rung& rung, const RungPaths& paths, StepEffect& effect);

}  // namespace popflow
