#pragma once

#include <optional>
#include <span>
#include <string>

#include "flow/step_control.hpp"
#include "popflow/outcome.hpp"
#include "popflow/state.hpp"
#include "popflow/workers.hpp"
#include "steppers/tolerance.hpp"

namespace popflow {

/// "t = 1.5", to ten digits.
std::string at_time(double t);

/// Length of a trajectory's first step. It does not depend on the end of the run, so that an
/// extended run has the bits of a longer one.
struct FirstStep {
  double length = 0;
  /// Whether the slope vanishes: within a hundred units of time it would move no entry by more than
  /// its tolerance. The slope then does not show the time scale, and the step is kCautious.
  bool cautious = false;

  /// SciPy and Hairer's codes begin with this length, too, where the slope vanishes.
  static constexpr double kCautious = 1e-6;
};

/// First step to try from x with derivative `dxdt`.
FirstStep first_step(const Tolerance& tolerance, std::span<const double> x,
                     std::span<const double> dxdt, std::span<const double> regime);

/// Whether the state moves outwards and its time scale |x|/|dx/dt| has shrunk to the rounding of t.
bool grows_without_bound(Workers& workers, const Tolerance& tolerance, std::span<const double> x,
                         std::span<const double> dxdt, double t);

/// Explains why the steps from x, with derivative `dxdt`, became too small: the state grows without
/// bound, or the right-hand side jumps. `blame` names the entry to blame if the last trial step was
/// not finite (flow/non_finite.hpp).
Outcome step_underflow(Workers& workers, const Tolerance& tolerance, std::span<const double> x,
                       std::span<const double> dxdt, double t,
                       const std::optional<std::string>& blame);

}  // namespace popflow
