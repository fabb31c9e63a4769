#include "dynamics/joma_joint/spectrum.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

namespace popflow::joma_joint {
namespace {

using Eigen::Index;

// Up to this size of the Gram matrix its whole spectrum costs little compared with a right-hand
// side.
constexpr Index kSmall = 48;
// Error of the vector that Lanczos' iteration stops at: far below what counts as a rate.
constexpr double kClose = 1e-12;

/// The leading eigenvector of the Gram matrix of V's shorter side, of V/scale.
Eigen::VectorXd by_whole_spectrum(const Attention::Matrix& V, double scale, bool wide) {
  const Eigen::MatrixXd unit = V / scale;
  Eigen::MatrixXd gram;
  if (wide)
    gram.noalias() = unit * unit.transpose();
  else
    gram.noalias() = unit.transpose() * unit;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum(gram);
  return spectrum.eigenvectors().col(gram.cols() - 1);
}

/// The same by Lanczos' iteration, which multiplies by V and its transpose only. From a start that
/// depends on the size alone: what is found depends on V, not on what came before. False where the
/// first singular values lie too close for it.
bool by_iteration(const Attention::Matrix& V, double scale, bool wide, Eigen::VectorXd& found) {
  const Index n = wide ? V.rows() : V.cols();
  const Index most = std::min<Index>(n / 2, 120);
  Eigen::MatrixXd basis(n, most + 1);
  Eigen::VectorXd diagonal(most);
  Eigen::VectorXd beside(most);
  Eigen::VectorXd other(wide ? V.cols() : V.rows());
  Eigen::VectorXd next(n);
  // Neither even nor of zero sum, nor periodic: the fractions of multiples of the golden section.
  for (Index i = 0; i < n; ++i) {
    const double turn = 0.6180339887498949 * static_cast<double>(i + 1);
    basis(i, 0) = 0.5 + turn - std::floor(turn);
  }
  basis.col(0).normalize();
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> ritz;
  for (Index m = 0; m < most; ++m) {
    if (wide) {
      other.noalias() = V.transpose() * basis.col(m) / scale;
      next.noalias() = V * other / scale;
    } else {
      other.noalias() = V * basis.col(m) / scale;
      next.noalias() = V.transpose() * other / scale;
    }
    diagonal[m] = other.squaredNorm();
    for (int twice = 0; twice < 2; ++twice) {
      const Eigen::VectorXd along = basis.leftCols(m + 1).transpose() * next;
      next.noalias() -= basis.leftCols(m + 1) * along;
    }
    beside[m] = next.norm();
    const bool ends = !(beside[m] > 1e-14 * diagonal.head(m + 1).maxCoeff());
    if (!ends) basis.col(m + 1) = next / beside[m];
    if (m == 0 || (!ends && m % 4 != 3)) continue;
    ritz.computeFromTridiagonal(diagonal.head(m + 1), beside.head(m));
    const double gap = ritz.eigenvalues()[m] - ritz.eigenvalues()[m - 1];
    const double left = beside[m] * std::abs(ritz.eigenvectors()(m, m));
    if (ends || left <= kClose * gap) {
      found = (basis.leftCols(m + 1) * ritz.eigenvectors().col(m)).normalized();
      return true;
    }
  }
  return false;
}

}  // namespace

Leading leading_direction(const Attention::Matrix& V) {
  // By the Gram matrix of the shorter side: squares cost digits of small singular values only.
  Leading found;
  const double scale = V.cwiseAbs().maxCoeff();  // V = 0: all answers are NaN
  const bool wide = V.cols() >= V.rows();
  Eigen::VectorXd vector;
  if (std::min(V.rows(), V.cols()) <= kSmall || !by_iteration(V, scale, wide, vector))
    vector = by_whole_spectrum(V, scale, wide);
  Eigen::VectorXd other =
      wide ? Eigen::VectorXd(V.transpose() * vector) : Eigen::VectorXd(V * vector);
  other /= scale;
  const double length = other.norm();
  found.value = scale * length;
  found.left = wide ? vector : Eigen::VectorXd(other / length);
  found.right = wide ? Eigen::VectorXd(other / length) : vector;
  found.stable_rank = (V / scale).squaredNorm() / (length * length);
  return found;
}

double stable_rank_log_rate(const Attention::Matrix& V, const Attention::Matrix& dV,
                            const Leading& leading, double* size) {
  const double whole = V.cwiseProduct(dV).sum() / V.squaredNorm();
  const double first = leading.left.dot(dV * leading.right) / leading.value;
  *size = std::abs(whole) + std::abs(first);
  return whole - first;
}

}  // namespace popflow::joma_joint
