#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "popflow/driver.hpp"
#include "popflow/system.hpp"
#include "popflow/table_row.hpp"
#include "popflow/workers.hpp"

namespace popflow {

struct SdeMethod;
const SdeMethod& sde_method(std::string_view name);
struct NoiseKind;
const NoiseKind& noise_kind(std::string_view name);

/// Population flow with Gaussian noise that mimics minibatches, in the Ito sense:
///
///   dx = f(x) dt + sqrt(eta/B) C(x)^(1/2) dW          (Li, Tai, E 2017, arXiv 1511.06251)
///
/// with f the System's right-hand side, eta the learning rate, B the batch size and C the
/// covariance of one sample's gradient as given by the noise model.
///
/// With modified_equation = 2 the drift is f - (eta/2) J_f f, and the covariance is that of
/// (I - (eta/2) J_f) C(x - (eta/2) f)^(1/2) xi. The weak error against SGD is then of order eta^2
/// (Li, Tai, E 2019). In this equation f includes the System's proximal term, which contributes to
/// J_f only where weights are at rest.
///
/// Methods, all converging to the Ito solution:
/// - euler_maruyama: strong order 1/2 (1 for additive noise), weak order 1; any noise. With
///   modified_equation = 2 weak order 2, in dt and eta together.
/// - heun: the improved Euler drift; strong order 1, weak order 2; additive noise (isotropic) only.
/// - srk: SRA1 of Roessler (2010), strong order 3/2, weak order 2; additive noise only.
/// - gradient_descent: not a discretisation of the SDE but noisy gradient descent, x <- x + eta f +
///   eta/sqrt(B) C^(1/2) xi, steps of eta.
///
/// Between two targets the steps are equal and at most dt (with `coarsen`, except for the last
/// one).
class SdeDriver : public Driver {
 public:
  struct Options {
    TableRow<SdeMethod, sde_method> method = "euler_maruyama";
    double learning_rate = 0.01;
    std::int64_t batch_size = 128;
    double dt = 0.001;
    TableRow<NoiseKind, noise_kind> noise = "batch";
    double noise_scale = 1;  ///< isotropic: C = noise_scale^2 I
    std::int64_t noise_samples = 128;
    std::int64_t modified_equation = 1;
    std::uint64_t seed = 1;
    std::uint32_t run = 0;
    /// Merges this many steps of dt into one along the same Brownian path, to measure the solver's
    /// error.
    std::int64_t coarsen = 1;
    std::int64_t max_steps = 0;  ///< after this many steps the run ends unfinished; 0: no limit
    DriverHooks hooks = {};
  };
  /// Throws UsageError, with the reason, for a method or noise model that the System or the noise
  /// does not allow.
  SdeDriver(const System& system, Workers& workers, Options options);
  ~SdeDriver() override;

  [[nodiscard]] const State& state() const override;
  [[nodiscard]] const Regime& regime() const override;
  [[nodiscard]] double time() const override { return t_; }
  [[nodiscard]] StepStatistics statistics() const override;
  [[nodiscard]] const IntervalSteps& interval() const override;
  [[nodiscard]] const std::vector<FoundEvent>& events() const override;
  [[nodiscard]] const std::vector<double>& passages() const override;
  [[nodiscard]] ResumePoint resume_point() const override;
  void restore(State x, Regime regime, double t, const DriverData& data) override;

 private:
  Outcome advance_to(double target) override;
  struct Internals;
  struct Pace;
  void step(double h, std::int64_t parts);
  void drift(const State& x, double t, State& f);
  /// v <- v - factor J_f(x) v.
  void subtract_jacobian(double factor, State& v);
  [[nodiscard]] DriverData data() const;

  const System& system_;
  Workers& workers_;
  Options options_;
  std::unique_ptr<Internals> in_;
  double t_ = 0;
  double begin_ = 0;         ///< start of the current interval between targets
  std::int64_t inside_ = 0;  ///< increments of the path used in the interval
  std::int64_t steps_ = 0;   ///< increments used in all
  std::int64_t evaluations_ = 0;
};

}  // namespace popflow
