#include "numerics/largest_eigenvalue.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "numerics/linear_algebra.hpp"

namespace popflow {

namespace {

// Largest number of entries of the basis in memory.
constexpr std::size_t kMostNumbers = std::size_t{1} << 25;
constexpr std::size_t kLeastBasis = 20;
constexpr std::size_t kMostBasis = 200;
// Relative rounding error of operators, which may be differences of functions.
constexpr double kRoundingOfOperator = 1e-9;

using Eigen::Index;

}  // namespace

LargestEigenvalue largest_eigenvalue(
    const std::function<void(std::span<const double> v, std::span<double> out)>& apply,
    std::vector<double> start, double tolerance, std::size_t most_products) {
  const std::size_t n = start.size();
  LargestEigenvalue found;
  Eigen::Map<Eigen::VectorXd> first(start.data(), static_cast<Index>(n));
  const double norm = n > 0 ? first.norm() : 0;
  if (!(norm > 0)) {  // no direction to search
    found.converged = norm == 0;
    return found;
  }
  const auto most =
      static_cast<Index>(std::min(n, std::clamp(kMostNumbers / n, kLeastBasis, kMostBasis)));
  Eigen::MatrixXd basis(static_cast<Index>(n), most + 1);
  // Upper triangle of the projected operator.
  Eigen::MatrixXd projected = Eigen::MatrixXd::Zero(most, most);
  Eigen::VectorXd image(static_cast<Index>(n));
  basis.col(0) = first / norm;
  Index known = 0;     // columns whose images are in `projected`
  double largest = 0;  // norm of an image
  for (std::size_t products = 0; products < most_products; ++products) {
    apply({basis.col(known).data(), n}, {image.data(), n});
    if (!image.allFinite()) return {std::nan(""), std::nan(""), false};
    largest = std::max(largest, image.norm());
    const auto so_far = basis.leftCols(known + 1);
    const Eigen::VectorXd along = so_far.transpose() * image;
    projected.col(known).head(known + 1) = along;
    image -= so_far * along;
    image -= so_far * (so_far.transpose() * image);
    const double rest = image.norm();
    ++known;

    // Solving the small problem after every product would cost more than the products.
    constexpr Index kBetween = 5;
    const bool looks = known < kBetween || known % kBetween == 0 || known == most;
    // If the basis spans the whole Krylov space, the rest is rounding and gives no direction.
    if (!looks && rest > kRoundingOfOperator * largest) {
      basis.col(known) = image / rest;
      continue;
    }
    const Eigen::MatrixXd symmetric =
        projected.topLeftCorner(known, known).selfadjointView<Eigen::Upper>();
    const auto [values, vectors] = symmetric_eigen(symmetric);
    const Index last = known - 1;
    found.value = values[last];
    found.residual = rest * std::abs(vectors(last, last));
    const double size = values.cwiseAbs().maxCoeff();
    const double rounding = kRoundingOfOperator * size;
    found.converged = found.residual <= std::max(tolerance * std::abs(found.value), rounding) ||
                      static_cast<std::size_t>(known) == n;
    // A single direction does not show other eigenvalues, unless there are no other directions.
    if (found.converged && (known > 1 || n == 1 || rest <= rounding)) return found;
    found.converged = false;
    if (known < most) {
      basis.col(known) = image / rest;
      continue;
    }
    // Restart with the leading half of the Ritz vectors.
    const Index kept = std::max<Index>(1, most / 2);
    const Eigen::MatrixXd leading = vectors.rightCols(kept);
    basis.leftCols(kept) = (basis.leftCols(known) * leading).eval();
    projected.setZero();
    projected.topLeftCorner(kept, kept).diagonal() = values.tail(kept);
    basis.col(kept) = image / rest;
    known = kept;
  }
  return found;
}

}  // namespace popflow
