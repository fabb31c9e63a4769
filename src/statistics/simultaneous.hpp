#pragma once

#include <cstddef>
#include <vector>

namespace popflow {

struct Centred;

/// How much room Student's t has to be large somewhere over time, of paths that are Gaussian.
struct Course {
  double times = 0;    ///< number of times at which paths scatter
  double length = 0;   ///< of the way that the runs' deviations, scaled to 1, go on the sphere
  double degrees = 0;  ///< of freedom, of each time's own standard error

  /// A bound of the probability that t exceeds `x` at one time or more: the smaller of Bonferroni's
  /// and of the expected number of excursions (Worsley 1994), which counts times that tell the same
  /// but once.
  [[nodiscard]] double tail(double x) const;
  /// The least x whose bound is (1 - level)/2.
  [[nodiscard]] double quantile(double level) const;
};

/// The course of a difference of two means, from n1 rows without their mean and the n2 that follow
/// (0: of the former alone); its degrees of freedom are Welch's, those of the time with the fewest.
Course course_of(const Centred& rows, std::size_t n1, std::size_t n2);

}  // namespace popflow
