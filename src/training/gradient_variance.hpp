#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "popflow/system.hpp"

namespace popflow {

/// Variances of the minibatch direction, entry by entry: those of one sample over the batch size.
class GradientVariance {
 public:
  struct Options {
    std::int64_t batch_size = 128;
    double isotropic = -1;  ///< standard deviation of one sample, where that is known; else < 0
    std::int64_t samples = 1000;  ///< from which they are estimated where no covariance is known
    std::uint64_t seed = 1;
    /// Fresh samples for each stretch of this flow time; 0: the same throughout, so that they
    /// depend on x smoothly.
    double fresh_every = 0;
  };
  virtual ~GradientVariance() = default;
  /// Writes d, one entry for each of the System's. Thread-safe.
  virtual void write(StateView x, double t, std::span<double> d) const = 0;
};

/// By the System's own covariance, or else from samples. Throws UsageError, with the reason, where
/// it has neither. The System must outlive it.
std::unique_ptr<GradientVariance> make_gradient_variance(const System& system,
                                                         const GradientVariance::Options& options);

}  // namespace popflow
