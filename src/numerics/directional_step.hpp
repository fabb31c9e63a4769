#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "popflow/system_info.hpp"

namespace popflow {

/// Length of a step along v for a central difference at x. With this length the third derivative
/// and rounding are both negligible: 1e-10 and 1e-11 of the derivative, for functions that vary at
/// the scale of the state. Returns 0 if v is 0 or not finite.
inline double directional_step(const std::vector<StateBlock>& blocks, std::span<const double> x,
                               std::span<const double> v) {
  double largest = 0;
  std::size_t begin = 0;
  for (const StateBlock& block : blocks) {
    for (std::size_t i = begin; i < begin + block.size; ++i)
      largest = std::max(largest, std::abs(v[i]) / (block.scale + std::abs(x[i])));
    begin += block.size;
  }
  return largest > 0 && std::isfinite(largest) ? 1e-5 / largest : 0;
}

}  // namespace popflow
