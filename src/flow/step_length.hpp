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

/// First step of a trajectory.
struct FirstStep {
  double length = 0;
  /// The slope vanishes: with it no entry would move by more than its tolerance up to the target.
  /// Then it says nothing of the time scale, and the length is a small part of the way.
  bool cautious = false;
};

/// The first step to try from x with derivative `dxdt`, towards a target that is `remaining` away.
FirstStep first_step(const Tolerance& tolerance, std::span<const double> x,
                     std::span<const double> dxdt, std::span<const double> regime,
                     double remaining);

/// Has the state's own time shrunk to the rounding of t, with derivative `dxdt` outwards?
bool grows_without_bound(Workers& workers, const Tolerance& tolerance, std::span<const double> x,
                         std::span<const double> dxdt, double t);

/// Why steps from x, with derivative `dxdt`, have become smaller than that: the state grows without
/// bound, or the right-hand side jumps. `blame`: unless the last step that was tried was finite,
/// what is known of why not (flow/non_finite.hpp).
Outcome step_underflow(Workers& workers, const Tolerance& tolerance, std::span<const double> x,
                       std::span<const double> dxdt, double t,
                       const std::optional<std::string>& blame);

}  // namespace popflow
