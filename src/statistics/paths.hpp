#pragma once

#include <cstddef>
#include <vector>

#include "statistics/numbers.hpp"

namespace popflow {

/// Values of one observable over time, for several runs of one rung.
struct Paths {
  std::size_t runs = 0;
  std::size_t times = 0;
  std::vector<double> values;  ///< runs x times, row-major; NaN where a run has no value
  /// Whether there is one run without randomness, whose values have no error.
  bool exact = false;

  [[nodiscard]] double at(std::size_t run, std::size_t time) const {
    return values[run * times + time];
  }
};

/// Rows of the runs that are finite at all of the first `times` times.
Paths finite_runs(const Paths& paths, std::size_t times);

/// Number, mean and variance of the finite values at one time.
struct Summary {
  double number = 0;
  double mean = kNoNumber;
  double variance = kNoNumber;  ///< with divisor n - 1
  double skewness = 0;
  double kurtosis = 3;
};
/// Summarises one time. If all runs are bit-for-bit identical, the variance is zero and the mean is
/// exactly their value.
Summary summary(const Paths& paths, std::size_t time);
/// Means at all times.
std::vector<double> means_of(const Paths& paths);

}  // namespace popflow
