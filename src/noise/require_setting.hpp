#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "popflow/error.hpp"
#include "popflow/parameter.hpp"

namespace popflow {

// Checks of the settings of drivers with noise, which another program may set to any value. The
// messages name the command-line options. All functions throw UsageError.

inline void require_positive(const std::string& option, double value) {
  if (!(value > 0) || !std::isfinite(value))
    throw UsageError("--" + option + " is " + shortest(value) + "; it must be positive and finite");
}

inline void require_at_least(const std::string& option, std::int64_t least, std::int64_t value) {
  if (value < least)
    throw UsageError("--" + option + " is " + std::to_string(value) + "; it must be at least " +
                     std::to_string(least));
}

}  // namespace popflow
