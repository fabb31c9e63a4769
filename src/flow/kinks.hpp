#pragma once

#include <cmath>

#include "popflow/capabilities.hpp"

namespace popflow {

/// Where steps from t on end next: at the target, or just before a kink of the learning rate, up to
/// where the right-hand side is smooth.
inline double stop_before_kink(const Capability<Training>& training, double t, double target) {
  if (!training) return target;
  const double kink = training->next_kink(t);
  return kink < target ? std::nextafter(kink, 0.0) : target;
}

}  // namespace popflow
