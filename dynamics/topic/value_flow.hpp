#pragma once

#include <Eigen/Core>

#include "dynamics/topic/loss.hpp"

namespace popflow::topic {

/// Flow of W_V under uniform attention, which is linear, with its exact solution:
///   dW/dt = 2 E[x z'] - 2 W E[z z'] - 2 l2 W.
///
/// The loss depends on W only through two numbers, the outputs at the words inside and outside the
/// document. In coordinates y = sqrt(multiplicity) c, in which the flow is plain gradient descent,
///   L = 1 - 1/(tau v) + 1/2 |J y - r|^2 + l2 |y|^2
/// with a 2 x 4 matrix J, whose singular vectors decouple the flow. Components that J maps to 0
/// decay at the rate 2 l2; at l2 = 0 they stay constant.
class ValueFlow {
 public:
  ValueFlow(const Data& data, double l2);

  /// Limit of the flow from `start`. At l2 = 0 it is the pseudo-inverse's solution plus the
  /// component of the start on which the loss does not depend.
  [[nodiscard]] Values<double> optimum(const Values<double>& start) const;
  /// Optimum from zero.
  [[nodiscard]] Values<double> optimum() const { return optimum({0, 0, 0, 0}); }
  /// The exact solution.
  [[nodiscard]] Values<double> at(double t, const Values<double>& start) const;
  /// Loss, including the l2 term, above its minimum, as a sum of squares in which nothing cancels.
  [[nodiscard]] double excess_loss(const Values<double>& W) const;
  [[nodiscard]] double fastest_rate() const { return rate(0); }
  /// Slowest convergence rate of the flow from `start`.
  [[nodiscard]] double slowest_rate(const Values<double>& start) const;

 private:
  using Vector = Eigen::Vector4d;
  [[nodiscard]] Vector scaled(const Values<double>& W) const;
  [[nodiscard]] Values<double> unscaled(const Vector& y) const;
  [[nodiscard]] double rate(Eigen::Index i) const;
  [[nodiscard]] Vector without_effect(const Vector& y) const;

  double l2_;
  Vector root_;  ///< square roots of the multiplicities
  Eigen::Matrix<double, 2, 4> J_;
  Eigen::Vector2d singular_;  ///< 0 if the value is only rounding
  Eigen::Matrix<double, 4, 2> right_;
  Eigen::Vector2d end_;  ///< in the coordinates along right_
};

}  // namespace popflow::topic
