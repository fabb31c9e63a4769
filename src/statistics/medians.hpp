#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace popflow {

/// A confidence interval; an end that the data do not bound is infinite.
struct Interval {
  double low = 0;
  double high = 0;
};

/// First-passage times of runs, sorted. Infinite: not reached by the end.
class PassageTimes {
 public:
  /// `end` is the time up to which the runs were followed. `exact`: one run without randomness.
  PassageTimes(std::vector<double> times, double end, bool exact);

  [[nodiscard]] std::size_t runs() const { return times_.size(); }
  [[nodiscard]] bool exact() const { return exact_; }
  /// Number of runs that have reached it.
  [[nodiscard]] std::size_t reached() const;
  /// Median over all runs; infinite where fewer than half have reached it, NaN without runs.
  [[nodiscard]] double median() const;
  /// Confidence interval of the median, from order statistics: the numbers of runs on its two sides
  /// are binomial for any law of the times. So it covers, and of few runs its ends are infinite.
  /// A lower end beyond the last known time is the end of the runs.
  [[nodiscard]] Interval interval(double level) const;

 private:
  std::vector<double> times_;
  double end_;
  bool exact_;
};

/// Confidence interval of the second median minus the first, of runs that are independent of each
/// other: the intervals of the two medians, put together by the variance that their ends tell
/// (MOVER: Zou and Donner 2008). Where a median is infinite, the ends are those of a box: the
/// differences of ends, each at half the error.
Interval median_difference(const PassageTimes& first, const PassageTimes& second, double level);

/// Interval of the median difference of paired runs, which share their random numbers: percentiles
/// of the bootstrap over pairs.
Interval paired_median_difference(const std::vector<std::pair<double, double>>& times, double level,
                                  std::uint64_t seed);

}  // namespace popflow
