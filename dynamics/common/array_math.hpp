#pragma once

#include <Eigen/Core>

namespace popflow {

/// e^(x - shift) for each of n numbers, with the bits of math::exp; `out` may be x. (Eigen's array
/// functions have the C library's bits at the ends of arrays, and others in between.)
void write_exponentials(const double* x, double shift, Eigen::Index n, double* out);

/// The softmax weights of n numbers before they are normalised: e^(x - largest). Returns the
/// largest.
double write_relative_weights(const double* x, Eigen::Index n, double* out);

}  // namespace popflow
