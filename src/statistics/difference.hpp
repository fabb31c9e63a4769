#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "popflow/workers.hpp"
#include "statistics/paths.hpp"

namespace popflow {

/// Second minus first, at every time, and over all times together.
struct Difference {
  std::vector<double> difference;
  std::vector<double> error;  ///< standard error of it (Welch)
  std::vector<double> alike;  ///< so many runs of each rung would have the same
  std::vector<double> z;      ///< difference / error; NaN where both are rounding
  std::vector<double> band;   ///< half-width of the simultaneous confidence band over all times
  std::vector<double> gaussian_band;  ///< what its half-width would be of Gaussian laws
  double p_value = 1;                 ///< of equal means at all times, from the largest |z|
  std::size_t largest = 0;            ///< time of the largest |difference|
  bool exact = false;                 ///< neither rung has randomness
  bool nothing = false;               ///< differences and errors are rounding at all times
};

/// The band is wide enough for each side to be left with probability (1 - level)/2: its multiplier
/// is the larger one-sided quantile of max z and max -z among runs drawn anew from each rung's own
/// (the studentised bootstrap, which knows how skewed they are: losses are), at least Student's; or
/// that of Gaussian paths over all times, wider by as much as the bootstrap is than Student's at
/// one time, if this is smaller. An allowance is added for the part of the skewness that a sample
/// may not show: of the order 1/n for one rung against exact values, none for as many runs of equal
/// variance. With unequal numbers of runs the multiplier is at least that of runs drawn from both
/// rungs together.
///
/// The p-value of one rung against exact values is that of the same bootstrap. Of two rungs with
/// randomness it is that of a permutation test on max |z| (exact when the two are equal in law, for
/// any number of runs; studentised, so asymptotically right for equal means alone), and with
/// unequal numbers of runs at least the former.
///
/// Two exact rungs have a difference without error. Times at which a difference and its error are
/// both within kRounding of the means count for nothing: all runs start at one place, say, which a
/// rung in other coordinates rounds otherwise.
Difference difference(const Paths& first, const Paths& second, double level, std::uint64_t seed,
                      Workers& workers);

}  // namespace popflow
