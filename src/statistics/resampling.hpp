#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "popflow/workers.hpp"
#include "statistics/paths.hpp"

namespace popflow {

/// Number of random splits of a permutation test: p-values are multiples of 1/1000.
inline constexpr std::size_t kPermutations = 999;

/// Rows of several runs at all times, with the mean subtracted.
struct Centred {
  std::size_t times = 0;
  std::vector<double> rows;
};

/// Appends the centred rows of `paths`. Times at which z is NaN are set to 0, so that nothing
/// varies there.
void append(Centred& to, const Paths& paths, const std::vector<double>& mean,
            const std::vector<double>& z);

/// Largest |z| over time for every random split of the rows into groups of n1 and n2.
std::vector<double> split_maxima(const Centred& data, std::size_t n1, std::size_t n2,
                                 std::uint64_t seed, Workers& workers);

/// Number of draws of the bootstrap. Two-sided tests double the larger of the two one-sided
/// p-values, so that the bootstrap's p-values are multiples of 1/1000, too.
inline constexpr std::size_t kRedraws = 1999;

/// Largest z and largest -z over time, for every draw.
struct Extremes {
  std::vector<double> high, low;
  /// Pointwise quantile at each time: the larger one-sided quantile of z and -z, as in
  /// half_width().
  std::vector<double> of_each;
};

/// Rows from which the bootstrap draws each of the two groups.
enum class DrawnFrom {
  own,     ///< the group's own rows
  pooled,  ///< all rows: correct if both groups have one distribution, even if one is small
};

/// Extremes of draws with replacement: n1 rows for the first group and n2 rows for the second (n2 =
/// 0: only the first group). Infinite if a draw has no scatter although the rows do, unless at
/// least half of a group's rows have one value there: then one row that differs by the smallest
/// jump between values gives the draw's least scatter.
Extremes redrawn_extremes(const Centred& data, std::size_t n1, std::size_t n2, DrawnFrom from,
                          double level, std::uint64_t seed, Workers& workers);

/// Smallest half-width of an interval, in standard errors, that z exceeds on each side with
/// probability at most (1 - level)/2: the larger one-sided quantile. The quantile of |z| would
/// allow the whole error of a skewed distribution on one side.
double half_width(const Extremes& extremes, double level);
/// p-value for half_width(): twice the p-value of the likelier side.
double two_sided_p_value(double observed, const Extremes& extremes);

/// p-value of an observed value among the drawn ones. The observed value is counted as well, so
/// that the p-value is never 0. Values that differ only by rounding count as equal.
double p_value_of(double observed, const std::vector<double>& maxima);

/// Quantile of draws, rounded to the conservative side if there are few.
double quantile_of(std::vector<double> values, double level);

}  // namespace popflow
