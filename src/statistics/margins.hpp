#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "popflow/workers.hpp"
#include "statistics/difference.hpp"
#include "statistics/medians.hpp"
#include "statistics/verdict.hpp"

namespace popflow {

/// p-value of the hypothesis that the means differ nowhere by more than the margin: the test of
/// difference() after the means are moved towards each other by the margin. `d` is the difference
/// of the two. A NaN margin counts as 0. For exact values the result is 0 or 1.
double p_value_within(const Paths& first, const Paths& second, const Difference& d, double margin,
                      double level, std::uint64_t seed, Workers& workers);

/// Confidence intervals of a difference at any level; they widen with the level.
using Intervals = std::function<Interval(double level)>;

/// p-value of the hypothesis that the difference is no larger than the margin: the smallest 1 -
/// level at which the interval lies entirely beyond the margin.
double p_value_within(const Intervals& intervals, double margin);

/// Returns `agree` if the interval at `level_of_agreement` lies within +-margin, and `differ` if
/// the interval at `level` lies beyond the margin. `runs` is the smaller number of runs.
Verdict verdict(const Intervals& intervals, double difference, double margin, double level,
                double level_of_agreement, std::size_t runs);

/// p-values of one test of a family. Several p-values of one kind (items of a passage) count as one
/// member: the smallest p-value, multiplied by their number.
struct MemberOfFamily {
  std::vector<double> p_values;
};
/// Corrects p-values for multiple testing by Holm's method: at 0.05, the probability of rejecting
/// any true hypothesis is at most 0.05.
std::vector<MemberOfFamily> corrected_by_holm(const std::vector<MemberOfFamily>& family);

}  // namespace popflow
