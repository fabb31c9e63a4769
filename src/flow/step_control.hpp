#pragma once

#include <limits>

#include "popflow/math.hpp"
#include "steppers/step_factor.hpp"

// The step-size controller of flows. A number is a double for one trajectory, and a Pack for many
// in lanes: values are chosen without branches.

namespace popflow {

/// A step this small no longer moves the time by more than its rounding.
template <StepNumber Number>
Number smallest_step(const Number& t) {
  return math::max(Number(1e-300), 8 * std::numeric_limits<double>::epsilon() * math::abs(t));
}

/// How much smaller it may be where a System jumps (Capabilities::jumps). Rates of e^27 that have
/// grown within 1e-14 of the time that it took to get there need 1e-5, at a tolerance of 1e-13.
inline constexpr double kWithinRounding = 0x1p-30;

template <StepNumber Number>
Number smallest_step(const Number& t, const Truth<Number>& jumps) {
  return math::select(jumps, Number(kWithinRounding), Number(1)) * smallest_step(t);
}

/// A time, and the sum of the steps since that were too short to move it.
template <StepNumber Number>
struct FineTime {
  Number t = 0;
  Number beside = 0;

  [[nodiscard]] Number now() const { return t + beside; }
  [[nodiscard]] Number left(const Number& target) const { return target - t - beside; }
  /// After a step of length h, which may be that short if the System `jumps`.
  [[nodiscard]] FineTime after(const Number& h, const Truth<Number>& jumps) const {
    const Number way = beside + h;
    const Truth<Number> moves = !jumps || way >= smallest_step(t);
    return {math::select(moves, t + way, t), math::select(moves, Number(0), way)};
  }
};

/// The step to try where one of this length would do, and a target is `remaining` away: one that
/// misses the target by rounding alone hits it, and an adaptive one divides the rest of the way
/// rather than end with a tiny step.
template <StepNumber Number>
Number step_within(const Number& length, const Number& remaining, bool adaptive = true) {
  const Number half = 0.5 * remaining;
  const Number shared = adaptive ? math::select(length > half, half, length) : length;
  return math::select(length >= remaining * (1 - 1e-9), remaining, shared);
}

/// The length of an adaptive method's next step: `next` by the error of the last, of length h. If
/// that was cut short of `length`, the next one is no shorter than that.
template <StepNumber Number>
Number next_length(const Number& length, const Number& h, const Number& next) {
  return math::select(h < length, math::max(next, length), next);
}

/// Bounds on the steps of an adaptive method, beyond its error estimate. An error estimate is blind
/// to what lies between its stages; these bounds keep stages close enough to see it.
template <StepNumber Number>
struct StepBounds {
  /// Longest step (`--max-step`).
  Number longest = std::numeric_limits<double>::infinity();
  /// Begin of a trajectory whose slope vanished there: steps grow to no more than kShare of the
  /// time since. Minus infinity: no such bound.
  Number cautious_since = -std::numeric_limits<double>::infinity();

  /// With it the seven stages of dopri5 divide each decade of time into more than a hundred parts.
  static constexpr double kShare = 0.1;
  /// The length of the next step at t, where `wanted` follows from the error and the last length
  /// was `length`.
  [[nodiscard]] Number bounded(const Number& wanted, const Number& length, const Number& t) const {
    const Number share = kShare * (t - cautious_since);
    return within_longest(math::min(math::max(length, share), wanted));
  }
  [[nodiscard]] Number within_longest(const Number& length) const {
    return math::min(longest, length);
  }
};

/// Time and step size of a trajectory.
template <StepNumber Number>
struct StepControl {
  FineTime<Number> at = {};
  Number length = 0;  ///< of the next step, by the error of the last; 0: none chosen yet
  StepBounds<Number> bounds = {};
  Truth<Number> jumps = {};   ///< may steps be too short to move the time?
  Truth<Number> retry = {};   ///< was a step rejected since the last that was taken?
  Truth<Number> finite = {};  ///< was the last trial finite?

  /// The step to try towards a target.
  [[nodiscard]] Number step(const Number& target, bool adaptive = true) const {
    return step_within(bounds.within_longest(length), at.left(target), adaptive);
  }
  /// The end of a step of length h towards it.
  [[nodiscard]] FineTime<Number> end(const Number& h, const Number& target) const {
    const FineTime<Number> there = at.after(h, jumps);
    const Truth<Number> ends = h == at.left(target);
    return {math::select(ends, target, there.t), math::select(ends, Number(0), there.beside)};
  }
  /// A trial step of length h, which would end `there`, was taken or not.
  void update(const Truth<Number>& taken, const BasicTrial<Number>& trial, const Number& h,
              const FineTime<Number>& there) {
    const Number shorter = math::min(h, trial.next);
    const Number wanted = math::select(retry, shorter, trial.next);
    const Number longer = bounds.bounded(next_length(length, h, wanted), length, there.t);
    length = math::select(taken, longer, shorter);
    at = {math::select(taken, there.t, at.t), math::select(taken, there.beside, at.beside)};
    retry = !taken;
    finite = trial.finite;
  }
};

/// The smallest and the largest step so far, by those before the last; both are NaN before the
/// first one.
template <StepNumber Number>
Number smallest_with(const Number& smallest, const Number& h) {
  return math::select(h > smallest, smallest, h);
}
template <StepNumber Number>
Number largest_with(const Number& largest, const Number& h) {
  return math::select(h < largest, largest, h);
}

}  // namespace popflow
