#include "dynamics/joma_joint/theorem.hpp"

#include <cmath>
#include <limits>
#include <utility>

namespace popflow::joma_joint {
namespace {

using Eigen::Index;

double correlation(const Eigen::Ref<const Eigen::VectorXd>& a,
                   const Eigen::Ref<const Eigen::VectorXd>& b) {
  const Eigen::VectorXd x = a.array() - a.mean();
  const Eigen::VectorXd y = b.array() - b.mean();
  const double size = x.norm() * y.norm();
  // A quantity that varies only by rounding has no correlation.
  const double rounding = 1e-15 * static_cast<double>(a.size());
  if (x.norm() <= rounding * a.norm() || y.norm() <= rounding * b.norm() || !(size > 0))
    return std::numeric_limits<double>::quiet_NaN();
  return x.dot(y) / size;
}

}  // namespace

Theorem::Theorem(AttentionKind kind, double temperature, const Start& start, Eigen::VectorXd bbar)
    : kind_(kind), temperature_(temperature), start_(start), bbar_(std::move(bbar)) {}

double Theorem::gain(const Matrix& V, Index token) const {
  // Sum of products of differences and sums: the difference of two sums of squares would lose
  // digits while it is small.
  return (V.col(token) - start_.V.col(token)).dot(V.col(token) + start_.V.col(token));
}

Eigen::VectorXd Theorem::gains(const Matrix& V) const {
  Eigen::VectorXd q(V.cols());
  for (Index l = 0; l < q.size(); ++l) q[l] = gain(V, l);
  return q;
}

void Theorem::predict(const Matrix& V, Eigen::Ref<Eigen::VectorXd> z) const {
  for (Index l = 0; l < z.size(); ++l) z[l] = gain(V, l);
  switch (kind_) {
    case AttentionKind::linear:
      for (Index l = 0; l < z.size(); ++l)
        z[l] = std::copysign(std::sqrt(start_.z[l] * start_.z[l] + z[l]), start_.z[l]);
      break;
    case AttentionKind::exponential:
      z = start_.z + z / (2 * temperature_);
      break;
    case AttentionKind::softmax: {
      const double sum = z.sum();
      z = start_.z + (z - sum * bbar_) / (2 * temperature_);
      break;
    }
  }
}

void Theorem::rate(const Matrix& V, const Matrix& dV, const Vector& z,
                   Eigen::Ref<Eigen::VectorXd> dz) const {
  for (Index l = 0; l < dz.size(); ++l) dz[l] = V.col(l).dot(dV.col(l));
  switch (kind_) {
    case AttentionKind::linear:
      dz.array() /= z.array();
      break;
    case AttentionKind::exponential:
      dz /= temperature_;
      break;
    case AttentionKind::softmax: {
      const double sum = dz.sum();
      dz = (dz - sum * bbar_) / temperature_;
      break;
    }
  }
}

double Theorem::residual(const Matrix& V, const Vector& z) const {
  const Eigen::VectorXd q = gains(V);
  switch (kind_) {
    case AttentionKind::linear:
      return ((z - start_.z).cwiseProduct(z + start_.z) - q).cwiseAbs().maxCoeff();
    case AttentionKind::exponential:
      return (z - start_.z - q / (2 * temperature_)).cwiseAbs().maxCoeff();
    case AttentionKind::softmax:
      return (z - start_.z - (q - q.sum() * bbar_) / (2 * temperature_)).cwiseAbs().maxCoeff();
  }
  return 0;
}

Theorem::Correlations Theorem::correlations(const Matrix& V, const Vector& z) const {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  Eigen::VectorXd prediction(z.size());
  predict(V, prediction);
  Correlations found{correlation(z, prediction), none, none};
  if (kind_ != AttentionKind::softmax) return found;
  const Eigen::VectorXd squares = V.colwise().squaredNorm().transpose();
  found.weights = correlation(z, squares);
  found.norm = correlation(z, -squares.sum() * bbar_);
  return found;
}

}  // namespace popflow::joma_joint
