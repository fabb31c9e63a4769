#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "popflow/state.hpp"
#include "steppers/tolerance.hpp"

namespace popflow {

/// Number of steps between checks of a state of `size` numbers for events, switches, the condition
/// that ends the run and non-finite entries. A check reads the whole state, but a sampled step
/// changes only a small part of a large state. A check after every step would cost more than the
/// steps.
inline std::int64_t steps_between_checks(std::size_t size) {
  constexpr std::size_t kSmall = std::size_t{1} << 14;
  constexpr std::size_t kMost = 64;
  return static_cast<std::int64_t>(std::clamp<std::size_t>(size / kSmall, 1, kMost));
}

/// Copy of the last state that passed the check, for drivers that step in place.
class GuardedState {
 public:
  GuardedState(Workers& workers, const State& start, const Regime& regime)
      : workers_(workers), good_(start), regime_(regime) {}

  /// Whether x, after `step` steps, is a valid state. If it is, it is saved.
  bool keep_if_valid(const State& x, const Regime& regime, std::int64_t step) {
    if (!is_state(workers_, x)) return false;
    keep(x, regime, step);
    return true;
  }
  void keep(const State& x, const Regime& regime, std::int64_t step) {
    good_.resize(x.size());
    in_stretches(workers_, x.size(), [&](std::size_t begin, std::size_t end, std::size_t) {
      std::copy(x.begin() + begin, x.begin() + end, good_.begin() + begin);
    });
    regime_ = regime;
    step_ = step;
  }
  /// Restores the last valid state and its regime, and returns its step.
  std::int64_t restore(State& x, Regime& regime) const {
    x = good_;
    regime = regime_;
    return step_;
  }

 private:
  Workers& workers_;
  State good_;
  Regime regime_;
  std::int64_t step_ = 0;
};

}  // namespace popflow
