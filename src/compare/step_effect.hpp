#pragma once

#include <vector>

#include "compare/comparison.hpp"

namespace popflow {

/// How much an SDE solver's steps matter: the mean over a few runs of what a run with steps of dt
/// has minus what steps of 2 dt give on the same Brownian path. For a method of weak order 1 this
/// is about the solver's own error at dt.
struct StepEffect {
  /// Per observable and save time.
  std::vector<std::vector<double>> mean, error;
};

/// Is the rung solved with steps whose size is the solver's own?
bool has_step_effect(const Rung& rung);

/// `paths` are the runs as they are. False when interrupted.
bool measure_step_effect(const Rung& rung, const RungPaths& paths, StepEffect& effect);

}  // namespace popflow
