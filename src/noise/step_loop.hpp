#pragma once

#include <string>
#include <utility>

#include "flow/endings.hpp"
#include "flow/step_length.hpp"
#include "flow/watched.hpp"
#include "noise/crossings.hpp"
#include "noise/guarded_state.hpp"
#include "noise/switches.hpp"
#include "popflow/driver.hpp"
#include "popflow/parameter.hpp"
#include "popflow/system.hpp"

namespace popflow {

/// Loop shared by the drivers with noise: discrete steps up to a target. After each step it checks
/// for events, switches, the condition that ends the run and non-finite entries; in large states it
/// checks less often.
class StepLoop {
 public:
  /// Starts at the System's start and time 0. A `max_steps` of 0 means no limit.
  StepLoop(const System& system, Workers& workers, DriverHooks hooks, std::int64_t max_steps)
      : x(start_of(system)),
        regime(regime_of(system)),
        crossings(system),
        stopping_(stopping(system)),
        hooks_(std::move(hooks)),
        max_steps_(max_steps),
        switches_(system),
        guard_(workers, x, regime) {
    switches_.update(x, regime, 0);
    crossings.update(view(), 0);
  }

  State x;
  Regime regime;
  Crossings crossings;
  IntervalSteps interval;

  [[nodiscard]] StateView view() const { return {x, regime}; }

  /// Resumes from a state after `steps` steps.
  void restore(State from, Regime in_regime, std::int64_t steps) {
    x = std::move(from);
    regime = std::move(in_regime);
    guard_.keep(x, regime, steps);
    checked_ = true;
    condition_checked_ = false;
  }

  /// Steps until the pace arrives at the target. A Pace counts the steps of a driver and has these
  /// members:
  ///   bool arrived()          whether the target is reached
  ///   void rest()             skips to the target, because nothing moves any more
  ///   double step()           moves x and returns the flow time of the step
  ///   int64_t steps()         total number of steps
  ///   double time()
  ///   string where()          the current time or step, in words
  ///   void go_back(steps)     resets the total number of steps to `steps`
  ///   string diverged(steps)  message for a state that became non-finite after `steps` steps
  template <class Pace>
  Outcome walk(Pace&& pace) {
    // The states at the begin and at the end of walk() have always been checked.
    good_number_ = interval.number;
    if (!std::exchange(condition_checked_, true) && over(pace.time())) return stopped(pace);
    while (!pace.arrived()) {
      if (switches_.at_rest(view())) {
        pace.rest();
        break;
      }
      // Interrupts are taken only after a check, so that a resumed run matches an uninterrupted
      // one.
      if (checked_ && hooks_.interrupted && hooks_.interrupted())
        return interrupted_at(pace.time(), pace.where());
      if (max_steps_ > 0 && pace.steps() >= max_steps_) {
        if (!checked_ && !guard_.keep_if_valid(x, regime, pace.steps())) return diverged(pace);
        return too_many_steps(max_steps_, pace.time(), pace.where());
      }
      const double length = pace.step();
      ++interval.number;
      interval.smallest = interval.largest = length;
      checked_ = pace.arrived() || pace.steps() % steps_between_checks(x.size()) == 0;
      if (checked_) {
        switches_.update(x, regime, pace.time());
        if (!guard_.keep_if_valid(x, regime, pace.steps())) return diverged(pace);
        good_number_ = interval.number;
        crossings.update(view(), pace.time());
      }
      if (hooks_.on_step) hooks_.on_step(pace.time());
      if (checked_ && over(pace.time())) return stopped(pace);
    }
    return {Outcome::Kind::reached, pace.time(), ""};
  }

 private:
  /// Whether the condition that ends the run holds.
  [[nodiscard]] bool over(double t) const {
    return stopping_ != nullptr && stopping_->stop_function(view(), t) < 0;
  }
  template <class Pace>
  [[nodiscard]] Outcome stopped(Pace& pace) const {
    return stopped_at(pace.time(), at_time(pace.time()), stopping_->condition());
  }

  /// Goes back to the last valid state.
  template <class Pace>
  Outcome diverged(Pace& pace) {
    const std::int64_t beyond = pace.steps();
    pace.go_back(guard_.restore(x, regime));
    interval.number = good_number_;
    checked_ = true;
    return diverged_at(pace.time(), pace.diverged(beyond));
  }

  static State start_of(const System& system) {
    State x(system.shape().state_size());
    system.start(x);
    return x;
  }
  static Regime regime_of(const System& system) {
    const Capability<Switching> switching = system.capabilities().switching;
    return switching ? switching->first_regime() : Regime();
  }

  const Watched* stopping_;  ///< null: no condition ends the run
  DriverHooks hooks_;
  std::int64_t max_steps_;
  Switches switches_;
  GuardedState guard_;
  std::int64_t good_number_ = 0;    ///< number of the interval's steps at the last valid state
  bool checked_ = true;             ///< whether the state has been checked since the last step
  bool condition_checked_ = false;  ///< whether the condition that ends the run was evaluated
};

}  // namespace popflow
