#pragma once

#include <cmath>

#include "popflow/capabilities.hpp"

namespace popflow {

/// Point at which steps from t must end next: the target, or the last number before a kink of the
/// learning rate. The right-hand side is smooth up to this point.
inline double stop_before_kink(const Capability<Training>& training, double t, double target) {
  if (!training) return target;
  const double kink = training->next_kink(t);
  return kink < target ? std::nextafter(kink, 0.0) : target;
}

}  // namespace popflow
