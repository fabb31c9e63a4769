#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace popflow {

/// A confidence interval; ends that the data do not bound are infinite.
struct Interval {
  double low = 0;
  double high = 0;
};

/// Sorted first-passage times of runs; infinite if not reached by the end.
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
  /// Confidence interval of the median from order statistics: the numbers of runs on either side
  /// are binomial for any distribution of times. The interval therefore always covers, and with few
  /// runs its ends are infinite. A lower end beyond the last known time is replaced by the end of
  /// the runs.
  [[nodiscard]] Interval interval(double level) const;

 private:
  std::vector<double> times_;
  double end_;
  bool exact_;
};

/// Confidence interval of the second median minus the first, for independent runs: combines the
/// intervals of the medians through the variances implied by their ends (MOVER: Zou and Donner
/// 2008). If a median is infinite, the ends are those of a box: differences of ends, each at half
/// the error.
Interval median_difference(const PassageTimes& first, const PassageTimes& second, double level);

/// Confidence interval of the median difference of paired runs, which share their random numbers:
/// percentiles of the bootstrap over pairs.
Interval paired_median_difference(const std::vector<std::pair<double, double>>& times, double level,
                                  std::uint64_t seed);

}  // namespace popflow
