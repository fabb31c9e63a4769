#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

namespace popflow {

/// The symmetric root of a symmetric, positive semidefinite 2 x 2 matrix, which may be singular. By
/// Cayley and Hamilton, R = (C + s I) / t with s = det R and t = tr R: s^2 = det C, t^2 = tr C + 2
/// s. Rounding that makes C indefinite counts as singular; the error of R^2 is some roundings of tr
/// C.
inline Eigen::Matrix2d symmetric_root(const Eigen::Matrix2d& C) {
  const double s = std::sqrt(std::max(0.0, C(0, 0) * C(1, 1) - C(1, 0) * C(1, 0)));
  const double t = std::sqrt(std::max(0.0, C.trace() + 2 * s));
  if (!(t > 0)) return Eigen::Matrix2d::Zero();
  return (C + s * Eigen::Matrix2d::Identity()) / t;
}

}  // namespace popflow
