#pragma once

#include <optional>
#include <span>
#include <vector>

#include "popflow/parameter.hpp"
#include "popflow/system.hpp"
#include "training/rate_schedule.hpp"

namespace popflow {

class Trained;

/// The sharpness beyond which steps of a training rule are unstable: of the rule's own Hessian,
/// which is preconditioned where the rule is adaptive.
struct StabilityLimit {
  double at_full_rate = 0;  ///< where the schedule is 1
  RateSchedule schedule = {};

  [[nodiscard]] double at(double t) const { return at_full_rate / schedule.at(t); }
};

/// The limit of the rule that options of `run` train by; none where they have no learning rate, as
/// a flow whose steps are not those of gradient descent, or where no limit is known of the rule.
std::optional<StabilityLimit> stability_limit(const Parameters& options);

/// The largest eigenvalue of the Hessian that training sees: that of -J_f, where the flow's
/// preconditioner and projection, and an adaptive rule's division, are made symmetric.
class Sharpness {
 public:
  /// Relative tolerance: the residual of the eigenvector, over the eigenvalue.
  static constexpr double kTolerance = 1e-6;

  /// Throws UsageError, with the reason, where the System's flow does not descend a loss. `own` are
  /// its own parameters. The System must outlive it.
  Sharpness(const System& system, const Parameters& own);

  /// NaN where it did not converge, or before the first step of an adaptive rule. Thread-safe.
  [[nodiscard]] double at(StateView x, double t) const;

 private:
  [[nodiscard]] double by_products(StateView x, double t) const;
  [[nodiscard]] double of_dense_jacobian(StateView x, double t) const;
  /// Preconditioner of the flow; throws UsageError unless it is a diagonal times a projection that
  /// commutes with it, the same in all states.
  void find_preconditioner();
  void write_jacobian(StateView x, double t, Eigen::Ref<Eigen::MatrixXd> j) const;
  /// Writes J_f v.
  void multiply(StateView x, double t, std::span<const double> v, std::span<double> out) const;

  const System& system_;    ///< whose gradients training takes
  const Trained* trained_;  ///< null under plain SGD
  std::size_t size_;
  Capabilities can_;
  bool reduced_ = false;          ///< reduced coordinates, whose Jacobian is taken whole
  std::vector<double> diagonal_;  ///< of the preconditioner; 0 where it removes an entry
  std::vector<double> start_;     ///< a vector in general position that its projection keeps
};

}  // namespace popflow
