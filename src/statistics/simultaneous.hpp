#pragma once

#include <cstddef>
#include <vector>

namespace popflow {

struct Centred;

/// Extent of the times over which Student's t of Gaussian paths may become large.
struct PathExtent {
  double times = 0;  ///< number of times at which the paths scatter
  /// Length of the curve that the runs' deviations, normalised to 1, draw on the sphere.
  double length = 0;
  double degrees = 0;  ///< degrees of freedom of the standard error at each time

  /// Upper bound of the probability that t exceeds `x` at any time. It is the smaller of
  /// Bonferroni's bound and the expected number of excursions (Worsley 1994), which counts
  /// correlated times only once.
  [[nodiscard]] double tail(double x) const;
  /// Smallest x for which the bound is (1 - level)/2.
  [[nodiscard]] double quantile(double level) const;
};

/// Extent for the difference of two means: of n1 centred rows and the following n2 (0: only the
/// first group). The degrees of freedom are Welch's, at the time with the fewest.
PathExtent extent_of(const Centred& rows, std::size_t n1, std::size_t n2);

}  // namespace popflow
