#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "popflow/outcome.hpp"
#include "popflow/state.hpp"
#include "popflow/workers.hpp"
#include "steppers/tolerance.hpp"

namespace popflow {

/// "t = 1.5", to ten digits.
std::string at_time(double t);

// Numbers are chosen, not ways: so these are vectorised over lanes, too.

/// A step this small no longer moves the time by more than its rounding.
inline double smallest_step(double t) {
  const double rounding = 8 * std::numeric_limits<double>::epsilon() * std::abs(t);
  return rounding > 1e-300 ? rounding : 1e-300;
}

/// How much smaller it may be where a System jumps (Capabilities::jumps). Rates of e^27 that have
/// grown within 1e-14 of the time that it took to get there need 1e-5, at a tolerance of 1e-13.
inline constexpr double kWithinRounding = 0x1p-30;

inline double smallest_step(double t, bool jumps) {
  return (jumps ? kWithinRounding : 1) * smallest_step(t);
}

/// A time, and what steps that are too short to move it have come to since.
struct FineTime {
  double t = 0;
  double beside = 0;

  [[nodiscard]] double now() const { return t + beside; }
  [[nodiscard]] double left(double target) const { return target - t - beside; }
  /// After a step of length h, which may be that short if the System `jumps`.
  [[nodiscard]] FineTime after(double h, bool jumps) const {
    const double way = beside + h;
    const bool moves = !jumps | (way >= smallest_step(t));
    return {moves ? t + way : t, moves ? 0 : way};
  }
};

/// The step to try where one of this length would do, and a target is `remaining` away: one that
/// misses the target by rounding alone hits it, and an adaptive one divides the rest of the way
/// rather than end with a tiny step.
inline double step_within(double length, double remaining, bool adaptive = true) {
  const double half = 0.5 * remaining;
  const double shared = adaptive && length > half ? half : length;
  return length >= remaining * (1 - 1e-9) ? remaining : shared;
}

/// The length of an adaptive method's next step: `next` by the error of the last, of length h, but
/// that it was cut short of `length` is no reason to take less.
inline double next_length(double length, double h, double next) {
  const double kept = length > next ? length : next;
  return h < length ? kept : next;
}

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

/// Bounds on the steps of an adaptive method, beyond its error estimate. An error estimate is blind
/// to what lies between its stages; these bounds keep stages close enough to see it.
struct StepBounds {
  /// Longest step (`--max-step`).
  double longest = std::numeric_limits<double>::infinity();
  /// Begin of a trajectory whose slope vanished there: steps grow to no more than kShare of the
  /// time since. Minus infinity: no such bound.
  double cautious_since = -std::numeric_limits<double>::infinity();

  /// With it the seven stages of dopri5 divide each decade of time into more than a hundred parts.
  static constexpr double kShare = 0.1;
  /// The length of the next step at t, where `wanted` follows from the error and the last length
  /// was `length`.
  [[nodiscard]] double bounded(double wanted, double length, double t) const {
    const double share = kShare * (t - cautious_since);
    const double most = share > length ? share : length;
    const double careful = wanted < most ? wanted : most;
    return within_longest(careful);
  }
  [[nodiscard]] double within_longest(double length) const {
    return length < longest ? length : longest;
  }
};

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
