#pragma once

#include <cstddef>

#include "statistics/medians.hpp"

namespace popflow {

/// Fraction of runs that have a property.
struct Share {
  std::size_t count = 0;
  std::size_t of = 0;
  bool exact = false;  ///< one run without randomness: the fraction is known

  [[nodiscard]] double value() const {
    return static_cast<double>(count) / static_cast<double>(of);
  }
  /// Clopper and Pearson's confidence interval, whose coverage is guaranteed.
  [[nodiscard]] Interval interval(double level) const;
};

/// Confidence interval of the second fraction minus the first. Combines the two intervals through
/// the variances that their ends imply (Newcombe 1998, method 10, with the ends of Clopper and
/// Pearson).
Interval share_difference(const Share& first, const Share& second, double level);

}  // namespace popflow
