#include "steppers/stepper.hpp"

#include <algorithm>
#include <cmath>

#include "popflow/math.hpp"

namespace popflow {

double step_factor(double error, int order) {
  constexpr double kSafety = 0.9;
  constexpr double kShrink = 0.2;
  constexpr double kGrow = 5;
  if (error <= 0) return kGrow;
  return std::clamp(kSafety * math::pow(error, -1.0 / order), kShrink, kGrow);
}

}  // namespace popflow
