#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "noise/noise_model.hpp"

namespace popflow {

/// A covariance of SDE noise: all that the program knows of it. A new one is a NoiseModel and a row
/// in noise_models.cpp.
struct NoiseKind {
  std::string_view name;     ///< as --noise takes it
  std::string_view meaning;  ///< of help, after "covariance of sde's noise:"
  /// Is it that of a sample's gradient? Then it is known, or estimated from --noise-samples; else
  /// --noise-scale says how large it is.
  bool of_gradients = false;
  /// Ensembles have SIMD lanes (noise/sde_lanes.hpp), where the System knows its covariance.
  bool has_lanes = false;
  /// By the System's own covariance; null where that has no part in it.
  std::unique_ptr<NoiseModel> (*make_exact)(const System& system, Workers& workers,
                                            const SdeDriver::Options& options) = nullptr;
  /// Without it.
  std::unique_ptr<NoiseModel> (*make)(const System& system, Workers& workers,
                                      const SdeDriver::Options& options) = nullptr;
};

/// All of them. The first one is the default.
std::span<const NoiseKind> noise_kinds();

/// The one of this name. Throws UsageError with the names of all if there is none.
const NoiseKind& noise_kind(std::string_view name);

/// Names of those that are, or are not, of gradients.
std::vector<std::string> noises_of_gradients(bool are);

}  // namespace popflow
