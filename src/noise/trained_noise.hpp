#pragma once

#include <memory>

#include "noise/noise_model.hpp"

namespace popflow {

/// Noise of a System under a training rule: the noise of the gradients, as it enters the SDE of the
/// rule. With --method gradient_descent the noise model takes the rule's own step with Gaussian
/// gradients.
std::unique_ptr<NoiseModel> make_trained_noise(const System& system, Workers& workers,
                                               const SdeDriver::Options& options);

}  // namespace popflow
