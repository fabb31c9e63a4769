#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare/rungs.hpp"
#include "file/trajectory_group.hpp"
#include "popflow/data_file.hpp"

namespace popflow {

/// Comparison of the noise of an sde rung with the samples that it models, at some states of the
/// flow; both are scaled to the covariance of one sample's gradient. Directions are eigenvectors of
/// the sampler's covariance, estimated from separate samples, so that the variances along them are
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
    Estimate kurtosis;                ///< along the first direction; 3 for a Gaussian
  };
  std::vector<double> times;
  std::vector<Source> sampler;  ///< per time; the kurtosis is that of a batch mean
  std::vector<Source> noise;
};

/// Returns the number of directions examined.
std::size_t noise_directions(const Rung& rung);

/// Checks the noise of a rung. Returns nothing if interrupted. Throws UsageError if the state is
/// too large or the system has no samples.
std::optional<NoiseCheck> check_noise(const Rung& rung);

/// Returns the layout and contents of the group `noise`.
GroupSpec noise_group(const Rung& rung);
void write_noise(const TrajectoryGroup& file, const NoiseCheck& check);

/// Describes the group `noise` of a file.
std::string describe_noise(const DataFile& file);

}  // namespace popflow
