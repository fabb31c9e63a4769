#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "popflow/random.hpp"
#include "popflow/workers.hpp"

namespace popflow {

/// One observable along several runs of one rung.
struct Paths {
  std::size_t runs = 0;
  std::size_t times = 0;
  std::vector<double> values;  ///< runs x times, row-major; NaN where a run has no value
  bool exact = false;          ///< one run without randomness: its values have no error

  [[nodiscard]] double at(std::size_t run, std::size_t time) const {
    return values[run * times + time];
  }
};

/// The rows of those runs that are finite at all of the first `times` times.
Paths finite_runs(const Paths& paths, std::size_t times);

/// Estimates for one rung at every time, from the runs that are finite there. NaN where there
/// are too few.
struct Moments {
  std::vector<double> mean;
  std::vector<double> mean_error;           ///< standard error; 0 for exact values
  std::vector<double> mean_low, mean_high;  ///< confidence interval, by Student's quantile
  std::vector<double> deviation;            ///< standard deviation (n - 1); 0 for exact values
  std::vector<double> deviation_low, deviation_high;  ///< confidence interval of it
  std::vector<double> deviation_error;                ///< standard error of its logarithm
};

/// The standard error of log s is by the delta method, with the sample's own fourth moment or a
/// Gaussian's, whichever is larger; the interval of the deviation is Student's quantile times that.
Moments moments(const Paths& paths, double level);

/// Widens the intervals of deviations to those of the studentised bootstrap of log s (runs drawn
/// anew, with a fourth moment of their own): of laws that are skewed, as those of losses are, small
/// samples mostly miss the tail, and without it they held 71 to 86 times of 100 where 95 are
/// claimed (squares of normals, 8 to 100 runs; with it 84 to 90).
void allow_for_skewness(Moments& moments, const Paths& paths, double level, std::uint64_t seed,
                        Workers& workers);

/// Second minus first, at every time, and over all times together.
struct Difference {
  std::vector<double> difference;
  std::vector<double> error;  ///< standard error of it (Welch)
  std::vector<double> alike;  ///< so many runs of each rung would have the same
  std::vector<double> z;      ///< difference / error; NaN where both are rounding
  std::vector<double> band;   ///< half-width of the simultaneous confidence band over all times
  double p_value = 1;         ///< of equal means at all times, from the largest |z|
  std::size_t largest = 0;    ///< time of the largest |difference|
  bool nothing = false;       ///< differences and errors are rounding at all times
};

/// The band's multiplier is the quantile of max |z| among runs drawn anew from each rung's own (the
/// studentised bootstrap, which knows how skew they are: losses are), at least Student's; so is the
/// p-value of one rung against exact values. Of two rungs with randomness it is that of a
/// permutation test on max |z| (exact when the two are equal in law, for any number of runs;
/// studentised, so asymptotically right for equal means alone), and with unequal numbers of runs at
/// least the former. Two exact rungs: a difference without error. Times at which a difference and
/// its error are both within kRounding of the means count for nothing: there all runs start at one
/// place, say, which a rung in other coordinates rounds otherwise.
Difference difference(const Paths& first, const Paths& second, double level, std::uint64_t seed,
                      Workers& workers);

/// Energy distance 2 E|X-Y| - E|X-X'| - E|Y-Y'| of two samples (Szekely and Rizzo 2013), with the
/// p-value of a permutation test. On a line it is 2 int (F - G)^2.
struct EnergyDistance {
  double distance = 0;
  double p_value = 1;
};
EnergyDistance energy_distance(std::span<const double> first, std::span<const double> second,
                               std::uint64_t seed);

/// Whether two rungs agree within a margin.
struct Verdict {
  enum class Kind { agree, differ, undecided };
  Kind kind = Kind::undecided;
  /// Undecided: with about so many of each rung most comparisons would decide; NaN: unknown.
  double runs_needed = 0;
};
inline const std::vector<std::string> verdict_words = {"agree", "differ", "undecided"};

/// agree: the simultaneous band of the difference lies within +-margin at all times. differ: at
/// some time it lies beyond, and equal means are rejected at the level (bands of a few runs can be
/// too narrow, the test is not). undecided: neither; `runs` is the smaller number at hand, and no
/// test of fewer than `least` could reject. A difference that may be chance is taken for chance
/// there. A margin of NaN, where the observable has no range, is 0.
Verdict verdict(const Difference& difference, double margin, double level, std::size_t runs,
                std::size_t least = 2);

/// Does a p-value reject at the level? Those of permutations may be exactly 1 - level, which
/// rounding puts on either side: in binary 1 - 0.9 is less than 0.1.
bool rejects(double p_value, double level);

/// The smallest p-value that the test of difference() can give of m and n runs, or of n against
/// exact values (m = 0).
double smallest_p_value(double m, double n);
/// The least number of runs, of both rungs or of the one that is not exact, of which it can reject
/// at the level.
std::size_t least_runs(bool against_exact, double level);

/// An estimate, its standard error, and of how many degrees of freedom that is; infinitely many
/// where it is known.
struct Estimate {
  double value = 0;
  double error = 0;
  double degrees = 0;
};

/// First minus second, the degrees of freedom by Welch and Satterthwaite.
Estimate minus(const Estimate& first, const Estimate& second);

/// e = c eta^p fitted to signed errors by weighted least squares; the interval of p is where the
/// profile of chi^2 stays within its quantile of the minimum. Standard errors of a few degrees of
/// freedom count as larger, by Student's quantile over the Gaussian one: taken as known, four runs
/// of each would hold the order 76 to 88 times of 100 where 95 are claimed, two 49 to 68.
struct OrderFit {
  enum class Kind {
    fitted,
    no_signal,  ///< no error differs from zero at the level
    no_power,   ///< no power of eta fits: the errors change sign, say
    rounding,   ///< an invariant that both rungs keep to rounding: there is no error to be fitted
  };
  Kind kind = Kind::no_signal;
  double order = 0;          ///< NaN where errors tell no more than the interval
  double low = 0, high = 0;  ///< of p; infinite where the data do not bound it
  double coefficient = 0;
};
inline const std::vector<std::string> order_words = {"fitted", "no_signal", "no_power", "rounding"};

/// What rounding in many steps makes of an invariant that is kept exactly, in numbers of order 1.
inline constexpr double kKept = 1e-12;
/// And of any two numbers that are equal but for rounding, relative to them.
inline constexpr double kRounding = kKept;

OrderFit fit_order(std::span<const double> eta, std::span<const Estimate> error, double level);

/// Two-sided quantile of Student's distribution; infinite below one degree of freedom, the Gaussian
/// one for infinitely many.
double student_quantile(double level, double degrees);

/// p-value of a difference between two proportions (Fisher's exact test).
double proportions_p_value(std::size_t first, std::size_t of_first, std::size_t second,
                           std::size_t of_second);

}  // namespace popflow
