#include "dynamics/joma_joint/spectrum.hpp"

#include <Eigen/Eigenvalues>
#include <cmath>

namespace popflow::joma_joint {

Leading leading_direction(const Attention::Matrix& V) {
  // By the Gram matrix of the shorter side: squares cost digits of small singular values only.
  Leading found;
  const double scale = V.cwiseAbs().maxCoeff();
  const Eigen::MatrixXd unit = V / scale;  // NaN for V = 0, and so are all answers
  const bool wide = V.cols() >= V.rows();
  Eigen::MatrixXd gram;
  if (wide)
    gram = unit * unit.transpose();
  else
    gram = unit.transpose() * unit;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum(gram);
  const Eigen::VectorXd vector = spectrum.eigenvectors().col(gram.cols() - 1);
  const Eigen::VectorXd other =
      wide ? Eigen::VectorXd(unit.transpose() * vector) : Eigen::VectorXd(unit * vector);
  const double length = other.norm();
  found.value = scale * length;
  found.left = wide ? vector : Eigen::VectorXd(other / length);
  found.right = wide ? Eigen::VectorXd(other / length) : vector;
  found.stable_rank = unit.squaredNorm() / (length * length);
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
