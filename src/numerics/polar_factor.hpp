#pragma once

#include <Eigen/Core>

namespace popflow {

/// Replaces a matrix U S V' by its polar factor U V', without the directions whose singular values
/// are rounding errors.
void take_polar_factor(Eigen::MatrixXd& a);

/// Five steps of the quintic iteration of Newton and Schulz with the coefficients of Jordan et al.
/// (2024), which approximates the polar factor: singular values end between about 0.7 and 1.2.
void take_newton_schulz(Eigen::MatrixXd& a);

}  // namespace popflow
