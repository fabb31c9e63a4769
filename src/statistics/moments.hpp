#pragma once

#include <cstdint>
#include <vector>

#include "popflow/workers.hpp"
#include "statistics/paths.hpp"

namespace popflow {

/// Estimates for one rung at every time, from the runs that are finite at this time; NaN if there
/// are too few.
struct Moments {
  std::vector<double> mean;
  std::vector<double> mean_error;  ///< standard error; 0 for exact values
  /// Confidence interval of the mean, by Student's quantile.
  std::vector<double> mean_low, mean_high;
  std::vector<double> deviation;  ///< standard deviation (n - 1); 0 for exact values
  /// Confidence interval of the standard deviation.
  std::vector<double> deviation_low, deviation_high;
  std::vector<double> deviation_error;  ///< standard error of log(deviation)
};

/// Computes the moments. The standard error of log s follows from the delta method with the fourth
/// moment of the sample or of a Gaussian, whichever is larger. The half-width of the interval of
/// the deviation is this error times Student's quantile.
Moments moments(const Paths& paths, double level);

/// Widens the intervals of deviations to those of the studentised bootstrap of log s, in which each
/// draw has its own fourth moment. For skewed distributions, such as losses, small samples usually
/// miss the tail. Example: squares of normals with 8 to 100 runs, at a nominal 95 %. The coverage
/// is 71 to 86 % without this correction and 84 to 90 % with it.
void allow_for_skewness(Moments& moments, const Paths& paths, double level, std::uint64_t seed,
                        Workers& workers);

}  // namespace popflow
