#pragma once

#include <optional>
#include <string>

namespace popflow::options {

/// Parts of a sweep's axis, [LABEL:]PARAMETER=VALUES.
struct AxisWords {
  std::optional<std::string> label;
  std::string parameter;
  std::string values;
};

/// Splits an axis; returns nothing if there is no '='.
std::optional<AxisWords> axis_words(const std::string& text);

}  // namespace popflow::options
