#pragma once

#include <Eigen/Core>
#include <vector>

namespace popflow::joma_joint {

/// Solves A x = b for a square matrix that is positive semi-definite, or nearly so: a multiple
/// 1e-13 of its mean diagonal is added, so that of many solutions the smallest is taken.
Eigen::VectorXd solve_semidefinite(const Eigen::MatrixXd& A, const Eigen::VectorXd& b);

enum class Place { low, high, between };

/// An equilibrium in a box.
struct Rest {
  Eigen::VectorXd mu;
  std::vector<Place> place;
};

/// mu in [0, upper] such that the force w = a - A mu points out of the box or vanishes: w <= 0
/// where mu = 0, w >= 0 where mu = upper, w = 0 between. For a symmetric positive semi-definite A
/// this is the minimum of mu'A mu/2 - a'mu in the box, and w is unique. Active sets, from `guess`,
/// which is moved into the box.
Rest rest_in_box(const Eigen::MatrixXd& A, const Eigen::VectorXd& a, const Eigen::VectorXd& upper,
                 Eigen::VectorXd guess);

}  // namespace popflow::joma_joint
