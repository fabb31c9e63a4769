#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "popflow/workers.hpp"
#include "statistics/paths.hpp"

namespace popflow {

/// Random splits of a permutation test: p-values are multiples of 1/1000.
inline constexpr std::size_t kPermutations = 999;

/// Rows of several runs at all times, without their mean.
struct Centred {
  std::size_t times = 0;
  std::vector<double> rows;
};

/// Times at which z is NaN are left at 0, where nothing varies.
void append(Centred& to, const Paths& paths, const std::vector<double>& mean,
            const std::vector<double>& z);

/// The largest |z| over time of every random split of the rows into groups of n1 and n2.
std::vector<double> split_maxima(const Centred& data, std::size_t n1, std::size_t n2,
                                 std::uint64_t seed, Workers& workers);

/// Draws of the bootstrap: its tests take the less likely of two sides, each of which counts twice.
/// So p-values are multiples of 1/1000 here, too.
inline constexpr std::size_t kRedraws = 1999;

/// The largest z and the largest -z over time of every draw.
struct Extremes {
  std::vector<double> high, low;
  /// At each time by itself: the wider one-sided quantile of z and -z, as of half_width().
  std::vector<double> of_each;
};

/// Rows from which the bootstrap draws each of two groups.
enum class DrawnFrom {
  own,     ///< its own rows
  pooled,  ///< all rows: right for groups of one law, however few rows one of them has
};

/// The extremes of n1 rows drawn anew, with repetition, for the first n1, and of n2 rows for the
/// rest (n2 = 0: of the former alone). Infinite where draws are so alike that they scatter not at
/// all, but the rows do.
Extremes redrawn_extremes(const Centred& data, std::size_t n1, std::size_t n2, DrawnFrom from,
                          double level, std::uint64_t seed, Workers& workers);

/// The least half-width of an interval, in standard errors, that each side leaves with probability
/// (1 - level)/2 at most: the wider of the two one-sided quantiles. Skewed laws have unlike sides,
/// and the quantile of |z| would give all of the error to one of them.
double half_width(const Extremes& extremes, double level);
/// The p-value that belongs to half_width(): twice that of the likelier side.
double two_sided_p_value(double observed, const Extremes& extremes);

/// The p-value of a value that was observed, beside those that were drawn. It counts among them, so
/// that the p-value is never 0. Values that differ by rounding alone count as equal.
double p_value_of(double observed, const std::vector<double>& maxima);

/// The quantile of draws, which stays on the safe side if they are few.
double quantile_of(std::vector<double> values, double level);

}  // namespace popflow
