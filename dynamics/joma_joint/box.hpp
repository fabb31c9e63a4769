#pragma once

#include <Eigen/Core>
#include <vector>

namespace popflow::joma_joint {

/// Solves A x = b for a square, (nearly) positive semi-definite matrix. A multiple 1e-13 of its
/// mean diagonal is added, which selects the smallest of several solutions.
Eigen::VectorXd solve_semidefinite(const Eigen::MatrixXd& A, const Eigen::VectorXd& b);

enum class Place { low, high, between };

/// Equilibrium in a box.
struct Equilibrium {
  Eigen::VectorXd mu;
  std::vector<Place> place;
};

/// Finds mu in [0, upper] such that the force w = a - A mu points out of the box or vanishes: w <=
/// 0 where mu = 0, w >= 0 where mu = upper, w = 0 between. For a symmetric positive semi-definite
/// A, mu minimises mu'A mu/2 - a'mu in the box, and w is unique. Uses active sets, starting from
/// `guess`, which is clipped to the box.
Equilibrium equilibrium_in_box(const Eigen::MatrixXd& A, const Eigen::VectorXd& a,
                               const Eigen::VectorXd& upper, Eigen::VectorXd guess);

}  // namespace popflow::joma_joint
