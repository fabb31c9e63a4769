#pragma once

#include <memory>

#include "noise/noise_model.hpp"

namespace popflow {

/// The noise of a System under a training rule: that of the gradients, as the rule's SDE takes it
/// in; with --method gradient_descent the rule's own step on Gaussian gradients.
std::unique_ptr<NoiseModel> make_trained_noise(const System& system, Workers& workers,
                                               const SdeDriver::Options& options);

}  // namespace popflow
