#pragma once

#include <Eigen/Core>

namespace popflow {

/// Writes e^(x - shift) for each of n numbers, with the bits of math::exp; `out` may be x. (Eigen's
/// array functions use the C library at the ends of arrays, with different bits from those in
/// between.)
void write_exponentials(const double* x, double shift, Eigen::Index n, double* out);

/// Unnormalised softmax weights of n numbers: e^(x - largest). Returns the largest.
double write_relative_weights(const double* x, Eigen::Index n, double* out);

}  // namespace popflow
