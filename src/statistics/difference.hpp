#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "popflow/workers.hpp"
#include "statistics/paths.hpp"

namespace popflow {

/// Difference (second minus first) at every time, and over all times together.
struct Difference {
  std::vector<double> difference;
  std::vector<double> error;  ///< standard error of the difference (Welch)
  std::vector<double> alike;  ///< number of runs, equal for both rungs, that would give this error
  std::vector<double> z;      ///< difference / error; NaN if both are rounding
  std::vector<double> band;   ///< half-width of the simultaneous confidence band over all times
  std::vector<double> gaussian_band;  ///< half-width of the band for Gaussian distributions
  double p_value = 1;                 ///< p-value of equal means at all times, from the largest |z|
  std::size_t largest = 0;            ///< time of the largest |difference|
  bool exact = false;                 ///< whether neither rung has randomness
  bool nothing = false;               ///< whether all differences are only rounding
};

/// Compares two rungs. On each side the simultaneous band is exceeded with probability (1 -
/// level)/2. Its half-width, in standard errors, is the smaller of two estimates:
///
/// - the larger one-sided quantile of max z and max -z over time in the studentised bootstrap,
///   which redraws runs within each rung and so accounts for skewed distributions such as losses
/// - the quantile of Gaussian paths over all times, widened by the excess of the bootstrap over
///   Student's quantile at a single time
///
/// An allowance is added for skewness that a sample may not show. In standard errors it is of order
/// 1/n for one rung against exact values, and zero for equal numbers of runs of equal variance. The
/// result is at least Student's quantile. With unequal numbers of runs it is also at least the
/// smaller estimate for runs drawn from both rungs together.
///
/// The p-value of one rung against exact values comes from the same two estimates. For two rungs
/// with randomness it comes from a permutation test on max |z|. The test is exact for any number of
/// runs if the two distributions are equal. The test is studentised, and therefore asymptotically
/// valid if only the means are equal. With unequal numbers of runs the p-value is at least that of
/// the two estimates.
///
/// Two exact rungs have a difference without error. Times at which a difference and its error are
/// both within kRounding of the means are ignored. Example: all runs start at the same point, which
/// a rung in other coordinates rounds differently.
Difference difference(const Paths& first, const Paths& second, double level, std::uint64_t seed,
                      Workers& workers);

}  // namespace popflow
