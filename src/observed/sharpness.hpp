#pragma once

#include <span>
#include <vector>

#include "popflow/parameter.hpp"
#include "popflow/system.hpp"

namespace popflow {

class Trained;

/// Computes the largest eigenvalue of the Hessian that determines training: the eigenvalue of -J_f,
/// symmetrised with the preconditioner and projection of the flow and the division of an adaptive
/// rule.
class Sharpness {
 public:
  /// Relative tolerance: residual of the eigenvector divided by the eigenvalue.
  static constexpr double kTolerance = 1e-6;

  /// Throws UsageError, with the reason, if the System's flow is not the gradient of a loss. `own`
  /// are its own parameters. The System must outlive this object.
  Sharpness(const System& system, const Parameters& own);

  /// Sharpness at x. NaN if the method did not converge, or before the first step of an adaptive
  /// rule. Thread-safe.
  [[nodiscard]] double at(StateView x, double t) const;

 private:
  [[nodiscard]] double by_products(StateView x, double t) const;
  [[nodiscard]] double of_dense_jacobian(StateView x, double t) const;
  /// Finds the preconditioner of the flow. Throws UsageError unless it is a diagonal matrix times a
  /// projection that commutes with it, the same in all states.
  void find_preconditioner();
  void write_jacobian(StateView x, double t, Eigen::Ref<Eigen::MatrixXd> j) const;
  /// Writes J_f v.
  void multiply(StateView x, double t, std::span<const double> v, std::span<double> out) const;

  const System& system_;    ///< System whose gradients training uses
  const Trained* trained_;  ///< null under plain SGD
  std::size_t size_;
  Capabilities can_;
  bool reduced_ = false;          ///< whether coordinates are reduced; the Jacobian is then dense
  std::vector<double> diagonal_;  ///< diagonal of the preconditioner; 0 where it removes an entry
  std::vector<double> start_;     ///< random vector that the projection leaves unchanged
};

}  // namespace popflow
