#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace popflow {

/// The largest eigenvalue of a symmetric operator.
struct LargestEigenvalue {
  double value = 0;
  double residual = 0;  ///< |A v - value v| for a unit vector v: some eigenvalue is this close
  bool converged = false;
};

/// By Lanczos' method with full reorthogonalisation, restarted with the leading Ritz vectors (Wu,
/// Simon 2000) where the basis would exceed the memory that it is given. The operator acts on the
/// Krylov space of `start`, which it must not leave; `apply` writes A v. Converged once the
/// residual is below `tolerance` times the value, or rounding of the operator, or the space is
/// exhausted.
LargestEigenvalue largest_eigenvalue(
    const std::function<void(std::span<const double> v, std::span<double> out)>& apply,
    std::vector<double> start, double tolerance, std::size_t most_products);

}  // namespace popflow
