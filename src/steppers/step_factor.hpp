#pragma once

#include <limits>
#include <type_traits>

#include "popflow/math.hpp"
#include "popflow/pack.hpp"

// Step-size factor from the error of a step. A number is a double for one trajectory, or a Pack for
// many trajectories in lanes. The rest of the controller is in flow/step_control.hpp.

namespace popflow {

/// A double, or a Pack.
template <class Number>
concept StepNumber = std::is_same_v<Number, double> || math::NumberClass<Number>;

/// Result of comparing numbers: bool, or a mask.
template <StepNumber Number>
using Truth = decltype(Number() < Number());

/// Factor for the step length after a NaN or an infinity, which does not show how much too long the
/// step was.
inline constexpr double kAfterNonFinite = 0.1;

/// x^y in lanes, to about 1e-15: exp and log are faster than an exact power.
template <std::size_t width>
BasicPack<width> quick_power(const BasicPack<width>& x, double y) {
  return math::exp(y * math::log(x));
}
inline double quick_power(double x, double y) { return math::pow(x, y); }

/// Factor by which a step size may grow or shrink, for an error in units of the tolerance and a
/// method whose local error is of order h^order.
template <StepNumber Number>
Number step_factor(const Number& error, int order) {
  constexpr double kSafety = 0.9;
  constexpr double kShrink = 0.2;
  constexpr double kGrow = 5;
  // Clamps the error to the range in which the factor is not at its bounds. Comparisons with NaN
  // choose the first branch.
  constexpr double kLeast = 1e-30;
  constexpr double kMost = 1e30;
  const Number within = math::min(Number(kMost), math::max(Number(kLeast), error));
  const Number wanted = kSafety * quick_power(within, -1.0 / order);
  return math::max(Number(kShrink), math::min(Number(kGrow), wanted));
}

template <StepNumber Number>
Truth<Number> is_finite(const Number& x) {
  return math::abs(x) <= std::numeric_limits<double>::max();
}

/// Result of trying a step.
template <StepNumber Number>
struct BasicTrial {
  Truth<Number> accepted = {};
  Truth<Number> finite = {};  ///< false if a NaN or an infinity occurred
  Number next = 0;            ///< step size to try next (adaptive methods)
  /// Length of the step, if shorter than requested (Stepper::falls_short).
  double length = std::numeric_limits<double>::infinity();
};

/// Judges a step of length h by its error, in units of the tolerance; `factor` is the step_factor()
/// of the error.
template <StepNumber Number>
BasicTrial<Number> judge(const Number& error, const Number& h, const Number& factor) {
  const Truth<Number> finite = is_finite(error);
  return {error <= 1, finite, math::select(finite, factor, Number(kAfterNonFinite)) * h};
}

}  // namespace popflow
