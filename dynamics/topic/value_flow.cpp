#include "dynamics/topic/value_flow.hpp"

#include <cmath>

#include "numerics/linear_algebra.hpp"
#include "popflow/math.hpp"

namespace popflow::topic {

namespace {
// Relative size below which a singular value counts as zero up to rounding.
constexpr double kZeroTolerance = 1e-13;
}  // namespace

ValueFlow::ValueFlow(const Data& data, double l2) : l2_(l2) {
  const auto multiplicity = value_multiplicities(data);
  for (Eigen::Index i = 0; i < 4; ++i)
    root_[i] = std::sqrt(multiplicity[static_cast<std::size_t>(i)]);

  // Output at a word = coefficients . (d, s, u, m); inside: words of the document's topics.
  const double v = data.v(), in = data.z_inside(), out = data.z_outside();
  const double others_inside = (data.tau() - 1) * v * in + data.outside() * out;
  const double others_outside =
      data.inside() * in + std::max(0.0, data.T() - data.tau() - 1) * v * out;
  const Eigen::RowVector4d inside(in, (v - 1) * in, others_inside, data.z_mask());
  const Eigen::RowVector4d outside(out, (v - 1) * out, others_outside, data.z_mask());
  // |J y - r|^2 / 2 = inside (f_in - 1/inside)^2 + outside f_out^2
  J_.row(0) = std::sqrt(2 * data.inside()) * inside;
  J_.row(1) = std::sqrt(2 * data.outside()) * outside;
  for (Eigen::Index i = 0; i < 4; ++i) {
    if (root_[i] > 0)
      J_.col(i) /= root_[i];
    else
      J_.col(i).setZero();
  }

  const Singular decomposed = singular(J_);
  singular_ = decomposed.values;
  right_ = decomposed.right;
  const Eigen::Vector2d target(std::sqrt(2 / data.inside()), 0);
  const Eigen::Vector2d seen = decomposed.left.transpose() * target;
  for (Eigen::Index i = 0; i < 2; ++i) {
    if (singular_[i] <= kZeroTolerance * singular_[0]) singular_[i] = 0;
    end_[i] = singular_[i] > 0 ? singular_[i] * seen[i] / rate(i) : 0;
  }
}

double ValueFlow::rate(Eigen::Index i) const { return singular_[i] * singular_[i] + 2 * l2_; }

ValueFlow::Vector ValueFlow::scaled(const Values<double>& W) const {
  return root_.cwiseProduct(Vector(W[0], W[1], W[2], W[3]));
}

Values<double> ValueFlow::unscaled(const Vector& y) const {
  Values<double> W{};
  for (Eigen::Index i = 0; i < 4; ++i)
    W[static_cast<std::size_t>(i)] = root_[i] > 0 ? y[i] / root_[i] : 0;
  return W;
}

ValueFlow::Vector ValueFlow::without_effect(const Vector& y) const {
  Vector rest = y;
  for (Eigen::Index i = 0; i < 2; ++i)
    if (singular_[i] > 0) rest -= right_.col(i).dot(y) * right_.col(i);
  return rest;
}

Values<double> ValueFlow::optimum(const Values<double>& start) const {
  Vector y = right_ * end_;
  if (l2_ == 0) y += without_effect(scaled(start));
  return unscaled(y);
}

Values<double> ValueFlow::at(double t, const Values<double>& start) const {
  const Vector y0 = scaled(start);
  Vector y = math::exp(-2 * l2_ * t) * without_effect(y0);
  for (Eigen::Index i = 0; i < 2; ++i) {
    if (singular_[i] == 0) continue;
    const double part = right_.col(i).dot(y0);
    y += (part - math::expm1(-rate(i) * t) * (end_[i] - part)) * right_.col(i);
  }
  return unscaled(y);
}

double ValueFlow::excess_loss(const Values<double>& W) const {
  const Vector y = scaled(W);
  const Vector beyond = y - right_ * end_;
  // At l2 = 0 the loss does not depend on components that J maps to 0, so their rounding must not
  // contribute.
  return 0.5 * (J_ * beyond).squaredNorm() + l2_ * beyond.squaredNorm();
}

double ValueFlow::slowest_rate(const Values<double>& start) const {
  double slowest = rate(0);
  if (singular_[1] > 0) slowest = std::min(slowest, rate(1));
  const Vector y0 = scaled(start);
  if (l2_ > 0 && without_effect(y0).norm() > kZeroTolerance * y0.norm())
    slowest = std::min(slowest, 2 * l2_);
  return slowest;
}

}  // namespace popflow::topic
