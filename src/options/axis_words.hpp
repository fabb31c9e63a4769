#pragma once

#include <optional>
#include <string>

namespace popflow::options {

/// The parts of an axis of a sweep, [LABEL:]PARAMETER=VALUES.
struct AxisWords {
  std::optional<std::string> label;
  std::string parameter;
  std::string values;
};

/// Nothing where there is no '='.
std::optional<AxisWords> axis_words(const std::string& text);

}  // namespace popflow::options
