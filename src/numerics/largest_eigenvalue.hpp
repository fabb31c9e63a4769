#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace popflow {

/// Largest eigenvalue of a symmetric operator.
struct LargestEigenvalue {
  double value = 0;
  /// |A v - value v| for a unit vector v: some eigenvalue lies within this distance.
  double residual = 0;
  bool converged = false;
};

/// Computes the largest eigenvalue by Lanczos' method with full reorthogonalisation. If the basis
/// would exceed its memory, the method restarts with the leading Ritz vectors (Wu, Simon 2000).
/// `apply` writes A v. The operator acts on the Krylov space of `start` and must map this space to
/// itself. The result has converged once the residual is below `tolerance` times the value, or
/// below the rounding of the operator, or once the space is exhausted.
LargestEigenvalue largest_eigenvalue(
    const std::function<void(std::span<const double> v, std::span<double> out)>& apply,
    std::vector<double> start, double tolerance, std::size_t most_products);

}  // namespace popflow
