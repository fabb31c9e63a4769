#pragma once

#include <string>

#include "popflow/math.hpp"
#include "popflow/system_info.hpp"

namespace popflow {

/// Prefix of fields, and of blocks of the state, that hold the average.
inline constexpr const char* kAverageOf = "A_";
/// Suffix of observables at the average.
inline constexpr const char* kAveraged = "_averaged";

/// Exponential average a of the weights x (--average A): each step ends with a += (1 - A) (x - a).
/// The average's flow is da/dt = ln(1/A)/eta (x - a). A step of length h of an SDE, or of SVAG,
/// keeps the share A^(h/eta).
struct WeightAverage {
  double share = 0;          ///< A
  double learning_rate = 1;  ///< eta, the length of a step of the training rule in flow time

  /// Rate at which a follows x in flow time.
  [[nodiscard]] double rate() const { return -math::log(share) / learning_rate; }
  /// Fraction of x - a by which a moves in a step of length h.
  [[nodiscard]] double moved(double h) const {
    return h == learning_rate ? 1 - share : -math::expm1(-rate() * h);
  }
};

/// Adds the fields A_FIELD and the observables NAME_averaged of the average. Throws UsageError if
/// the system has one of these names already.
SystemInfo with_averages(SystemInfo system);

}  // namespace popflow
