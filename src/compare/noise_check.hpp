#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare/rungs.hpp"
#include "file/trajectory_group.hpp"
#include "popflow/data_file.hpp"

namespace popflow {

/// The noise of an sde rung compared with the samples that it models, at some states of the flow:
/// both as the covariance of one sample's gradient. Directions are eigenvectors of the sampler's
/// covariance, estimated from samples that are not used again, so that the variances along them are
/// unbiased.
struct NoiseCheck {
  struct Estimate {
    double value = 0;
    double error = 0;  ///< standard error
  };
  /// Statistics of one source of gradients at one state.
  struct Source {
    Estimate trace;
    std::vector<Estimate> variances;  ///< along the directions
    Estimate kurtosis;                ///< along the first; 3 for a Gaussian
  };
  std::vector<double> times;
  std::vector<Source> sampler;  ///< per time; the kurtosis is that of a batch's mean
  std::vector<Source> noise;
};

/// The number of directions examined.
std::size_t noise_directions(const Rung& rung);

/// Throws UsageError where the state is too large for this, or the system has no samples. Nothing:
/// interrupted.
std::optional<NoiseCheck> check_noise(const Rung& rung);

/// The group `noise`, and its contents.
GroupSpec noise_group(const Rung& rung);
void write_noise(const TrajectoryGroup& file, const NoiseCheck& check);

/// The group of a file, in words.
std::string describe_noise(const DataFile& file);

}  // namespace popflow
