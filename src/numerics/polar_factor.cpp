#include "numerics/polar_factor.hpp"

#include <Eigen/SVD>
#include <limits>

namespace popflow {

void take_polar_factor(Eigen::MatrixXd& a) {
  if (!a.allFinite()) {
    a.setConstant(std::numeric_limits<double>::quiet_NaN());
    return;
  }
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(a, Eigen::ComputeThinU | Eigen::ComputeThinV);
  const Eigen::VectorXd& sizes = svd.singularValues();
  const double rounding =
      static_cast<double>(a.rows() + a.cols()) * std::numeric_limits<double>::epsilon() * sizes[0];
  const Eigen::VectorXd kept = (sizes.array() > rounding).cast<double>();
  a = svd.matrixU() * kept.asDiagonal() * svd.matrixV().transpose();
}

void take_newton_schulz(Eigen::MatrixXd& a) {
  constexpr double kFirst = 3.4445, kThird = -4.7750, kFifth = 2.0315;
  constexpr int kSteps = 5;
  const double norm = a.norm();
  if (norm == 0) return;
  const bool tall = a.rows() > a.cols();
  Eigen::MatrixXd x = (tall ? Eigen::MatrixXd(a.transpose()) : a) / norm;
  for (int step = 0; step < kSteps; ++step) {
    const Eigen::MatrixXd square = x * x.transpose();
    const Eigen::MatrixXd factor = kThird * square + kFifth * square * square;
    x = (kFirst * x + factor * x).eval();
  }
  a = tall ? Eigen::MatrixXd(x.transpose()) : x;
}

}  // namespace popflow
