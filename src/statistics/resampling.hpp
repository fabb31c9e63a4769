#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "popflow/workers.hpp"
#include "statistics/paths.hpp"

namespace popflow {

/// Draws of a test: p-values are multiples of 1/1000.
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

/// The largest |z| over time of n1 rows drawn anew, with repetition, from the first n1, and n2 from
/// the rest (n2 = 0: of the former alone). Infinite where draws are so alike that they scatter not
/// at all, but not the rows.
std::vector<double> redrawn_maxima(const Centred& data, std::size_t n1, std::size_t n2,
                                   std::uint64_t seed, Workers& workers);

/// The p-value of a value that was observed, beside those that were drawn. It counts among them, so
/// that the p-value is never 0. Values that differ by rounding alone count as equal.
double p_value_of(double observed, const std::vector<double>& maxima);

/// The quantile of draws, which stays on the safe side if they are few.
double quantile_of(std::vector<double> values, double level);

}  // namespace popflow
