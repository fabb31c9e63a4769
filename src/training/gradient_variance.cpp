#include "training/gradient_variance.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "popflow/error.hpp"
#include "popflow/random.hpp"
#include "training/sampled_gradients.hpp"

namespace popflow {

namespace {

class Isotropic final : public GradientVariance {
 public:
  explicit Isotropic(const Options& options)
      : variance_(options.isotropic * options.isotropic / static_cast<double>(options.batch_size)) {
  }
  void write(StateView /*x*/, double /*t*/, std::span<double> d) const override {
    std::fill(d.begin(), d.end(), variance_);
  }

 private:
  double variance_;
};

class OfCovariance final : public GradientVariance {
 public:
  OfCovariance(const System& system, const Options& options)
      : covariance_(system.capabilities().covariance),
        batch_size_(static_cast<double>(options.batch_size)) {}
  void write(StateView x, double t, std::span<double> d) const override {
    const auto size = static_cast<Eigen::Index>(d.size());
    thread_local Eigen::MatrixXd covariance;
    covariance.resize(size, size);
    covariance_->covariance(x, t, covariance);
    for (Eigen::Index i = 0; i < size; ++i)
      d[static_cast<std::size_t>(i)] = std::max(covariance(i, i), 0.0) / batch_size_;
  }

 private:
  Capability<Covariance> covariance_;
  double batch_size_;
};

/// Estimate from samples. The estimate is unbiased: the samples' deviations are taken from their
/// own mean.
class OfSamples final : public GradientVariance {
 public:
  OfSamples(const System& system, const Options& options)
      : sampled_(system.capabilities().sampled), options_(options) {}
  void write(StateView x, double t, std::span<double> d) const override {
    thread_local std::vector<double> gradient, mean;
    gradient.resize(d.size());
    mean.resize(d.size());
    const double stretch =
        options_.fresh_every > 0 ? std::floor(t / options_.fresh_every + 1e-6) : 0;
    const auto samples = static_cast<std::uint64_t>(options_.samples);
    const SampleKey first{options_.seed, Purpose::variance, 0,
                          static_cast<std::uint64_t>(stretch) * samples};
    sum_squares(sampled_, x, t, first, samples, gradient, mean, d);
    const double scale =
        1 / (static_cast<double>(options_.samples - 1) * static_cast<double>(options_.batch_size));
    for (double& entry : d) entry *= scale;
  }

 private:
  Capability<Sampled> sampled_;
  Options options_;
};

}  // namespace

std::unique_ptr<GradientVariance> make_gradient_variance(const System& system,
                                                         const GradientVariance::Options& options) {
  if (options.isotropic >= 0) return std::make_unique<Isotropic>(options);
  const Capabilities can = system.capabilities();
  if (can.covariance) return std::make_unique<OfCovariance>(system, options);
  if (!can.sampled)
    throw UsageError("--batch-noise-in-variance needs the variances of sampled gradients, but " +
                     why_no_samples(system));
  return std::make_unique<OfSamples>(system, options);
}

}  // namespace popflow
