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

/// p-value of means that are nowhere further apart than the margin: the test of difference(), after
/// the means were moved towards each other by the margin. `d` is the difference of the two. A
/// margin of NaN is 0. Of exact values it is 0 or 1.
double p_value_within(const Paths& first, const Paths& second, const Difference& d, double margin,
                      double level, std::uint64_t seed, Workers& workers);

/// Confidence intervals of one difference at any level; they grow with the level.
using Intervals = std::function<Interval(double level)>;

/// p-value of a difference no larger than the margin: the least 1 - level at which the interval
/// lies wholly beyond it.
double p_value_within(const Intervals& intervals, double margin);

/// agree: the interval at `level_of_agreement` lies within +-margin. differ: that at `level` lies
/// beyond. `runs` is the smaller number at hand.
Verdict verdict(const Intervals& intervals, double difference, double margin, double level,
                double level_of_agreement, std::size_t runs);

/// p-values of one test of a family: several of one kind (items of a passage) count as one member,
/// with the smallest, multiplied by their number.
struct MemberOfFamily {
  std::vector<double> p_values;
};
/// p-values corrected for their number by Holm's method: that one or more true hypotheses are
/// rejected at 0.05 has at most this probability.
std::vector<MemberOfFamily> corrected_by_holm(const std::vector<MemberOfFamily>& family);

}  // namespace popflow
