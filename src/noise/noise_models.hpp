#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "noise/noise_model.hpp"

namespace popflow {

/// Description of a covariance of SDE noise. A new one needs a NoiseModel and a row in
/// noise_models.cpp.
struct NoiseKind {
  std::string_view name;     ///< value of --noise
  std::string_view meaning;  ///< for help, after "covariance of the noise of sde:"
  /// Whether the covariance is that of the gradient of a sample. If so, the System knows the
  /// covariance, or it is estimated from --noise-samples. Otherwise --noise-scale sets its size.
  bool of_gradients = false;
  /// Whether ensembles have SIMD lanes (noise/sde_lanes.hpp) if the System declares its covariance.
  bool has_lanes = false;
  /// Creates the model that uses the System's own covariance; null if the model does not use one.
  std::unique_ptr<NoiseModel> (*make_exact)(const System& system, Workers& workers,
                                            const SdeDriver::Options& options) = nullptr;
  /// Creates the model without the System's covariance.
  std::unique_ptr<NoiseModel> (*make)(const System& system, Workers& workers,
                                      const SdeDriver::Options& options) = nullptr;
};

/// All kinds; the first one is the default.
std::span<const NoiseKind> noise_kinds();

/// The kind of this name. Throws UsageError with the allowed names if there is none.
const NoiseKind& noise_kind(std::string_view name);

/// Names of all kinds whose of_gradients equals `are`.
std::vector<std::string> noises_of_gradients(bool are);

}  // namespace popflow
