#pragma once

#include <cstddef>

#include "statistics/medians.hpp"

namespace popflow {

/// How many of some runs have something.
struct Share {
  std::size_t count = 0;
  std::size_t of = 0;
  bool exact = false;  ///< one run without randomness: the share is known

  [[nodiscard]] double value() const {
    return static_cast<double>(count) / static_cast<double>(of);
  }
  /// Clopper and Pearson's confidence interval, which always covers.
  [[nodiscard]] Interval interval(double level) const;
};

/// Confidence interval of the second share minus the first: the two intervals, put together by the
/// variance that their ends tell (Newcombe 1998, method 10, with Clopper and Pearson's ends).
Interval share_difference(const Share& first, const Share& second, double level);

}  // namespace popflow
