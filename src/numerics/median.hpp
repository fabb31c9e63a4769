#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace popflow {

/// The middle of the sorted numbers, of an even number the mean of the two; NaN of none.
inline double median(std::vector<double> numbers) {
  if (numbers.empty()) return std::nan("");
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  if (numbers.size() % 2 == 1) return *middle;
  return 0.5 * (*std::max_element(numbers.begin(), middle) + *middle);
}

}  // namespace popflow
