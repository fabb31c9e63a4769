#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "popflow/sde_driver.hpp"
#include "popflow/state.hpp"
#include "popflow/system.hpp"

namespace popflow {

/// One step of a Brownian path: from t over h, as a sum of `parts` increments, the first of which
/// has the number `first` on the path.
struct PathStep {
  double t = 0;
  double h = 0;
  std::uint64_t first = 0;
  std::int64_t parts = 1;
};

/// The Gaussian noise of an SDE: a covariance C(x), and the source of its randomness.
class NoiseModel {
 public:
  virtual ~NoiseModel() = default;
  /// Adds sqrt(eta/B) C(x)^(1/2) dW to `out`.
  virtual void add(StateView x, const PathStep& step, State& out) = 0;
  /// Moves x by h f(x) plus what add() would add, without another array of the state's size; false
  /// (and nothing is done) where that is not possible.
  virtual bool step_in_place(const PathStep& /*step*/, State& /*x*/, const Regime& /*regime*/) {
    return false;
  }
  /// Is C independent of x within a regime? Then the methods for additive noise apply.
  [[nodiscard]] virtual bool additive() const { return false; }
  /// Additive noise: as add(), and adds sqrt(eta/B) C^(1/2) int (W(s) - W(t)) ds to `area`.
  virtual void add_with_area(StateView x, const PathStep& step, State& out, State& area);
  /// Per-sample gradients drawn so far.
  [[nodiscard]] virtual std::int64_t samples() const { return 0; }
  virtual void set_samples(std::int64_t /*samples*/) {}
};

/// Why a System has no sampled model, by its own reason where it gives one.
std::string why_no_samples(const System& system);

/// The model that the options name (noise/noise_models.hpp). Throws UsageError with the reason
/// where the System does not allow it.
std::unique_ptr<NoiseModel> make_noise(const System& system, Workers& workers,
                                       const SdeDriver::Options& options);

// The models themselves:
/// By Covariance::covariance().
std::unique_ptr<NoiseModel> make_exact_noise(const System& system, Workers& workers,
                                             const SdeDriver::Options& options);
/// By its diagonal.
std::unique_ptr<NoiseModel> make_exact_diagonal_noise(const System& system, Workers& workers,
                                                      const SdeDriver::Options& options);
/// By sampled gradients.
std::unique_ptr<NoiseModel> make_batch_noise(const System& system, Workers& workers,
                                             const SdeDriver::Options& options);
/// By the variances of sampled gradients.
std::unique_ptr<NoiseModel> make_diagonal_noise(const System& system, Workers& workers,
                                                const SdeDriver::Options& options);
/// By a multiple of the identity.
std::unique_ptr<NoiseModel> make_isotropic_noise(const System& system, Workers& workers,
                                                 const SdeDriver::Options& options);

}  // namespace popflow
