#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace popflow {

/// Confidence interval. An end that the data do not bound is infinite.
struct Interval {
  double low = 0;
  double high = 0;
};

/// Sorted first-passage times of runs; infinite if a run did not reach the level.
class PassageTimes {
 public:
  /// `end`: time up to which the runs were followed. `exact`: one run without randomness.
  PassageTimes(std::vector<double> times, double end, bool exact);

  [[nodiscard]] std::size_t runs() const { return times_.size(); }
  [[nodiscard]] bool exact() const { return exact_; }
  /// Number of runs that have reached the level.
  [[nodiscard]] std::size_t reached() const;
  /// Median over all runs; infinite if fewer than half have passed, NaN without runs.
  [[nodiscard]] double median() const;
  /// Confidence interval of the median from order statistics. For any distribution of times, the
  /// numbers of runs on either side of the median are binomial; therefore the interval always
  /// covers. With few runs its ends are infinite. If the lower end lies beyond the last known time,
  /// it is replaced by the end of the runs.
  [[nodiscard]] Interval interval(double level) const;

 private:
  std::vector<double> times_;
  double end_;
  bool exact_;
};

/// Confidence interval of the second median minus the first, for independent runs. Combines the
/// intervals of the medians through the variances that their ends imply (MOVER: Zou and Donner
/// 2008). If a median is infinite, the ends are differences of the ends of the two intervals, each
/// at half the error probability.
Interval median_difference(const PassageTimes& first, const PassageTimes& second, double level);

/// Confidence interval of the median difference of paired runs, which share their random numbers:
/// percentiles of the bootstrap over pairs.
Interval paired_median_difference(const std::vector<std::pair<double, double>>& times, double level,
                                  std::uint64_t seed);

}  // namespace popflow
