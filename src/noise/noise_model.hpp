#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "popflow/sde_driver.hpp"
#include "popflow/state.hpp"
#include "popflow/system.hpp"

namespace popflow {

/// Step of a Brownian path from t over h, as a sum of `parts` increments. `first` is the index of
/// the first increment on the path.
struct PathStep {
  double t = 0;
  double h = 0;
  std::uint64_t first = 0;
  std::int64_t parts = 1;
};

/// Gaussian noise of an SDE: a covariance C(x) and its source of randomness.
class NoiseModel {
 public:
  virtual ~NoiseModel() = default;
  /// Adds sqrt(eta/B) C(x)^(1/2) dW to `out`.
  virtual void add(StateView x, const PathStep& step, State& out) = 0;
  /// Moves x by h f(x) plus the noise of add(), without another array of the size of the state.
  /// Returns false, and changes nothing, if the model has no such step.
  virtual bool step_in_place(const PathStep& /*step*/, State& /*x*/, const Regime& /*regime*/) {
    return false;
  }
  /// Whether C does not depend on x within a regime, so that methods for additive noise apply.
  [[nodiscard]] virtual bool additive() const { return false; }
  /// Like add(), for additive noise; also adds sqrt(eta/B) C^(1/2) int (W(s) - W(t)) ds to `area`.
  virtual void add_with_area(StateView x, const PathStep& step, State& out, State& area);
  /// Number of per-sample gradients drawn so far.
  [[nodiscard]] virtual std::int64_t samples() const { return 0; }
  virtual void set_samples(std::int64_t /*samples*/) {}
};

/// Creates the model that the options name (noise/noise_models.hpp). Throws UsageError, with the
/// reason, if the System does not allow the model.
std::unique_ptr<NoiseModel> make_noise(const System& system, Workers& workers,
                                       const SdeDriver::Options& options);

// Factories of the models:
/// Noise with the covariance from Covariance::covariance().
std::unique_ptr<NoiseModel> make_exact_noise(const System& system, Workers& workers,
                                             const SdeDriver::Options& options);
/// Noise with the diagonal of the covariance from Covariance::covariance().
std::unique_ptr<NoiseModel> make_exact_diagonal_noise(const System& system, Workers& workers,
                                                      const SdeDriver::Options& options);
/// Noise with the covariance of sampled gradients.
std::unique_ptr<NoiseModel> make_batch_noise(const System& system, Workers& workers,
                                             const SdeDriver::Options& options);
/// Noise with the variances of sampled gradients.
std::unique_ptr<NoiseModel> make_diagonal_noise(const System& system, Workers& workers,
                                                const SdeDriver::Options& options);
/// Noise with a multiple of the identity as its covariance.
std::unique_ptr<NoiseModel> make_isotropic_noise(const System& system, Workers& workers,
                                                 const SdeDriver::Options& options);

}  // namespace popflow
