#pragma once

#include <cstddef>
#include <vector>

namespace popflow {

struct Centred;

/// Size of the set of times over which Student's t of Gaussian paths may become large.
struct PathExtent {
  double times = 0;  ///< number of times at which the paths scatter
  /// Length of the curve of the runs' deviations, normalised to 1, on the sphere.
  double length = 0;
  double degrees = 0;  ///< degrees of freedom of the standard error at each time

  /// Upper bound of the probability that t exceeds `x` at any time: the smaller of Bonferroni's
  /// bound and the expected number of excursions (Worsley 1994), which counts correlated times only
  /// once.
  [[nodiscard]] double tail(double x) const;
  /// Smallest x whose bound is (1 - level)/2.
  [[nodiscard]] double quantile(double level) const;
};

/// Extent of a difference of two means, from n1 centred rows and the n2 that follow (0: only the
/// first group). The degrees of freedom are Welch's, at the time that has the fewest.
PathExtent extent_of(const Centred& rows, std::size_t n1, std::size_t n2);

}  // namespace popflow
