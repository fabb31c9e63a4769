#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace popflow {

/// Median; for an even number of elements the mean of the middle two; NaN for an empty vector.
inline double median(std::vector<double> numbers) {
  if (numbers.empty()) return std::nan("");
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  if (numbers.size() % 2 == 1) return *middle;
  return 0.5 * (*std::max_element(numbers.begin(), middle) + *middle);
}

}  // namespace popflow
