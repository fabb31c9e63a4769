#pragma once

#include <cstdint>

#include "popflow/state.hpp"
#include "steppers/tolerance.hpp"

namespace popflow {

/// A copy of the last state that was seen to be good, for drivers that step in place. Small states
/// are looked at after every step, large ones (where sparse steps are much cheaper than a pass over
/// the state) every few.
class GuardedState {
 public:
  GuardedState(Workers& workers, const State& start) : workers_(workers), good_(start) {}

  /// Has x, after `step` steps, left the numbers that a state may hold? Looks if it is due, or now.
  bool good(const State& x, std::int64_t step, bool now) {
    constexpr std::size_t kSmall = std::size_t{1} << 20;
    constexpr std::int64_t kEvery = 32;
    if (!now && x.size() > kSmall && step % kEvery != 0) return true;
    if (!is_state(workers_, x)) return false;
    keep(x, step);
    return true;
  }
  void keep(const State& x, std::int64_t step) {
    good_ = x;
    step_ = step;
  }
  /// Writes the last good state to x and returns its step.
  std::int64_t take_back(State& x) const {
    x = good_;
    return step_;
  }

 private:
  Workers& workers_;
  State good_;
  std::int64_t step_ = 0;
};

}  // namespace popflow
