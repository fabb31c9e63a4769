#pragma once

#include <limits>
#include <string>

namespace popflow {

/// How an advance to a target time ended.
struct Outcome {
  enum class Kind { reached, steady, diverged, step_limit, underflow, interrupted, stuck, stopped };
  Kind kind = Kind::reached;
  double time = 0;        ///< the last time with a valid state
  std::string message{};  ///< a sentence for the user; empty when the target was reached
  /// Best estimate of the blow-up time; NaN unless diverged.
  double diverged_at = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace popflow
