#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "popflow/system.hpp"

namespace popflow {

/// Variances of the gradient of a minibatch, entry by entry: the variances of one sample's
/// gradient, divided by the batch size.
class GradientVariance {
 public:
  struct Options {
    std::int64_t batch_size = 128;
    double isotropic = -1;  ///< standard deviation of one sample if it is known, otherwise negative
    std::int64_t samples = 1000;  ///< number of samples of an estimate, if no covariance is known
    std::uint64_t seed = 1;
    /// Flow time after which fresh samples are drawn. 0: the samples never change, so that the
    /// variances depend on x smoothly.
    double fresh_every = 0;
    bool operator==(const Options&) const = default;
  };
  virtual ~GradientVariance() = default;
  /// Writes the variances d, one for each entry of the System's state. Thread-safe.
  virtual void write(StateView x, double t, std::span<double> d) const = 0;
};

/// Creates variances from the System's own covariance or, if it has none, from samples. Throws
/// UsageError, with the reason, if the System has neither. The System must outlive the result.
std::unique_ptr<GradientVariance> make_gradient_variance(const System& system,
                                                         const GradientVariance::Options& options);

}  // namespace popflow
