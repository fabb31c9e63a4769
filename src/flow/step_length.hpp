#pragma once

#include <span>
#include <string>

#include "popflow/outcome.hpp"
#include "popflow/state.hpp"
#include "popflow/workers.hpp"
#include "steppers/tolerance.hpp"

namespace popflow {

/// "t = 1.5", to ten digits.
std::string at_time(double t);

/// A step this small no longer moves the time by more than its rounding.
double smallest_step(double t);

/// The first step to try from x with derivative `dxdt`, towards a target that is `remaining` away.
double first_step(const Tolerance& tolerance, std::span<const double> x,
                  std::span<const double> dxdt, std::span<const double> regime, double remaining);

/// Why steps from x, with derivative `dxdt`, have become smaller than that: the state grows without
/// bound, or the right-hand side jumps. `finite`: the last step that was tried was.
Outcome step_underflow(Workers& workers, const Tolerance& tolerance, std::span<const double> x,
                       std::span<const double> dxdt, double t, bool finite);

}  // namespace popflow
