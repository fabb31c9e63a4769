#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "popflow/state_view.hpp"
#include "popflow/system.hpp"

namespace popflow {

/// Values of a recorded field of a System at x: `size` numbers, row-major.
inline std::vector<double> field_values(const System& system, const std::string& name, StateView x,
                                        std::size_t size) {
  std::vector<double> values(size);
  system.field(name, x, 0, [&](std::size_t first, std::span<const double> piece) {
    std::ranges::copy(piece, values.begin() + static_cast<std::ptrdiff_t>(first));
  });
  return values;
}

/// Place of entry i of a row-major field of `size` numbers in a block that stores it by columns.
/// With one column both orders are the same.
inline std::size_t place_by_columns(std::size_t i, std::size_t size, std::size_t columns) {
  return i % columns * (size / columns) + i / columns;
}

}  // namespace popflow
