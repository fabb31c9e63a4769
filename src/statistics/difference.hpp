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
  std::vector<double> alike;  ///< equal number of runs per rung with this error
  std::vector<double> z;      ///< difference / error; NaN where both are rounding
  std::vector<double> band;   ///< half-width of the simultaneous confidence band over all times
  std::vector<double> gaussian_band;  ///< half-width of the band for Gaussian distributions
  double p_value = 1;                 ///< for equal means at all times, from the largest |z|
  std::size_t largest = 0;            ///< time of the largest |difference|
  bool exact = false;                 ///< whether neither rung has randomness
  bool nothing = false;               ///< only rounding at all times
};

/// Compares two rungs. The simultaneous band is exceeded on each side with probability (1 -
/// level)/2: its multiplier is the larger one-sided quantile of max z and max -z in the studentised
/// bootstrap (runs redrawn within each rung, which accounts for skewed distributions such as
/// losses), but at least Student's. If smaller, the quantile of Gaussian paths over all times is
/// used, widened by the excess of the bootstrap over Student's at a single time. An allowance is
/// added for the part of the skewness that a sample may not show: of order 1/n for one rung against
/// exact values, zero for equal numbers of runs of equal variance. With unequal numbers of runs the
/// multiplier is at least that of runs drawn from both rungs together.
///
/// The p-value of one rung against exact values comes from the same bootstrap. For two rungs with
/// randomness it comes from a permutation test on max |z| (exact if the two distributions are
/// equal, for any number of runs; studentised, so asymptotically valid for equal means only), and
/// with unequal numbers of runs it is at least the former.
///
/// Two exact rungs have a difference without error. Times at which a difference and its error are
/// both within kRounding of the means are ignored: for example, all runs start at the same point,
/// which a rung in other coordinates rounds differently.
Difference difference(const Paths& first, const Paths& second, double level, std::uint64_t seed,
                      Workers& workers);

}  // namespace popflow
