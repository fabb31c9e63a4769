#pragma once

#include <limits>

#include "popflow/math.hpp"
#include "steppers/step_factor.hpp"

// The step-size controller of flows. A number is a double for one trajectory or a Pack for many in
// SIMD lanes. Branch-free, so that the same code serves both.

namespace popflow {

/// Step length below which a step moves the time by no more than its rounding.
template <StepNumber Number>
Number smallest_step(const Number& t) {
  return math::max(Number(1e-300), 8 * std::numeric_limits<double>::epsilon() * math::abs(t));
}

/// Factor for smallest_step() if the System jumps (Capabilities::jumps). Example: rates of e^27
/// that grow within the last 1e-14 of the elapsed time need steps of 1e-5 times the usual minimum,
/// at a tolerance of 1e-13.
inline constexpr double kWithinRounding = 0x1p-30;

template <StepNumber Number>
Number smallest_step(const Number& t, const Truth<Number>& jumps) {
  return math::select(jumps, Number(kWithinRounding), Number(1)) * smallest_step(t);
}

/// Time, and the sum of the later steps that were too short to change it (compensated summation).
template <StepNumber Number>
struct FineTime {
  Number t = 0;
  Number remainder = 0;

  [[nodiscard]] Number now() const { return t + remainder; }
  [[nodiscard]] Number left(const Number& target) const { return target - t - remainder; }
  /// Time after a step of length h; the step may be too short to change `t` if the System `jumps`.
  [[nodiscard]] FineTime after(const Number& h, const Truth<Number>& jumps) const {
    const Number way = remainder + h;
    const Truth<Number> moves = !jumps || way >= smallest_step(t);
    return {math::select(moves, t + way, t), math::select(moves, Number(0), way)};
  }
};

/// Step to try if the controller allows `length` and a target is `remaining` away. A step that
/// would miss the target by rounding ends at the target. An adaptive step is shortened so that two
/// equal steps reach the target, which avoids a tiny last step.
template <StepNumber Number>
Number step_within(const Number& length, const Number& remaining, bool adaptive = true) {
  const Number half = 0.5 * remaining;
  const Number shared = adaptive ? math::select(length > half, half, length) : length;
  return math::select(length >= remaining * (1 - 1e-9), remaining, shared);
}

/// Next step length of an adaptive method; `next` follows from the error of the last step, of
/// length h. If the last step was cut short from `length`, the next one is at least `length`.
template <StepNumber Number>
Number next_length(const Number& length, const Number& h, const Number& next) {
  return math::select(h < length, math::max(next, length), next);
}

/// Bounds on the steps of an adaptive method in addition to its error estimate. The estimate misses
/// features that lie between the stages; the bounds keep the stages close enough to see them.
template <StepNumber Number>
struct StepBounds {
  /// Longest step (`--max-step`).
  Number longest = std::numeric_limits<double>::infinity();
  /// Time since which steps are cautious: the start of a trajectory whose slope vanished there. A
  /// step is then at most kShare of the time since. Minus infinity: no such bound.
  Number cautious_since = -std::numeric_limits<double>::infinity();

  /// With this share, the seven stages of dopri5 divide each decade of time into more than a
  /// hundred parts.
  static constexpr double kShare = 0.1;
  /// Length of the next step at t; `wanted` follows from the error, and `length` was the last
  /// length.
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
  Number length = 0;  ///< next step length from the error of the last step; 0: none chosen yet
  StepBounds<Number> bounds = {};
  Truth<Number> jumps = {};   ///< whether steps may be too short to move the time
  Truth<Number> retry = {};   ///< whether a step was rejected since the last accepted one
  Truth<Number> finite = {};  ///< whether the last trial was finite

  /// Step to try towards a target.
  [[nodiscard]] Number step(const Number& target, bool adaptive = true) const {
    return step_within(bounds.within_longest(length), at.left(target), adaptive);
  }
  /// Whether a step of length h would have another length, or another end, without the target.
  [[nodiscard]] bool is_changed_by(const Number& target, const Number& h) const {
    return h != bounds.within_longest(length) || h == at.left(target);
  }
  /// End of a step of length h towards the target.
  [[nodiscard]] FineTime<Number> end(const Number& h, const Number& target) const {
    const FineTime<Number> there = at.after(h, jumps);
    const Truth<Number> ends = h == at.left(target);
    return {math::select(ends, target, there.t), math::select(ends, Number(0), there.remainder)};
  }
  /// Updates the controller after a trial step of length h that would end at `there`.
  void update(const Truth<Number>& taken, const BasicTrial<Number>& trial, const Number& h,
              const FineTime<Number>& there) {
    const Number shorter = math::min(h, trial.next);
    const Number wanted = math::select(retry, shorter, trial.next);
    const Number longer = bounds.bounded(next_length(length, h, wanted), length, there.t);
    length = math::select(taken, longer, shorter);
    at = {math::select(taken, there.t, at.t), math::select(taken, there.remainder, at.remainder)};
    retry = !taken;
    finite = trial.finite;
  }
};

/// Smallest or largest step so far, including the last one, h. Before the first step, `smallest`
/// and `largest` are NaN.
template <StepNumber Number>
Number smallest_with(const Number& smallest, const Number& h) {
  return math::select(h > smallest, smallest, h);
}
template <StepNumber Number>
Number largest_with(const Number& largest, const Number& h) {
  return math::select(h < largest, largest, h);
}

}  // namespace popflow
