#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "popflow/driver.hpp"
#include "popflow/error_norm.hpp"
#include "popflow/system.hpp"
#include "popflow/workers.hpp"

namespace popflow {

class Stepper;

/// Advances a System's state along its population flow.
///
/// Has its own step loop, because odeint's controlled steppers accept a step whose error estimate
/// is NaN. Hits each target exactly and restarts its stepper there, keeping only the step size, so
/// that a run interrupted at a target resumes bit for bit.
class FlowDriver : public Driver {
 public:
  struct Options {
    std::string method = "dopri5";  ///< value of --method
    double rtol = 1e-8;
    double atol = 1e-10;  ///< multiplied by each block's scale
    ErrorNorm error_norm = ErrorNorm::largest;
    /// Fixed or first step. Methods with fixed steps and proximal terms need it.
    std::optional<double> dt = {};
    std::optional<double> max_step = {};   ///< longest adaptive step; unset: that of Capabilities
    std::int64_t max_steps = 100'000'000;  ///< accepted and rejected steps together
    std::optional<double> steady_tolerance = {};  ///< stop when steady
    /// Planned end of the whole run, to detect that the run's pace will not reach it; unset: no
    /// check.
    std::optional<double> end = {};
    bool stop_when_stuck = false;  ///< if the end is out of reach, stop instead of warning once
    DriverHooks hooks = {};
  };

  /// Starts at the System's start and time 0.
  FlowDriver(const System& system, Workers& workers, Options options);
  ~FlowDriver() override;

  [[nodiscard]] const State& state() const override { return x_; }
  [[nodiscard]] const Regime& regime() const override { return regime_; }
  [[nodiscard]] double time() const override;
  [[nodiscard]] StepStatistics statistics() const override;
  [[nodiscard]] const IntervalSteps& interval() const override { return interval_; }
  [[nodiscard]] const std::vector<FoundEvent>& events() const override;
  [[nodiscard]] const std::vector<double>& passages() const override;

  /// Checkpoint here or, for methods with step memory, at the last target.
  [[nodiscard]] ResumePoint resume_point() const override;
  void restore(State x, Regime regime, double t, const DriverData& data) override;

 private:
  Outcome advance_to(double target) override;
  [[nodiscard]] DriverData data() const;
  void begin_interval();
  /// End of the next step at the latest: the target, or just before a kink of the learning rate.
  [[nodiscard]] double next_stop(double target) const;
  /// Restarts the stepper behind a kink of the learning rate, where the right-hand side jumps.
  void pass_kink();
  [[nodiscard]] bool at_rest() const;
  /// Time of the state, including the rounding error that time() drops.
  [[nodiscard]] double now() const;
  /// Whether the step of length h to x_new_ has dense output.
  bool extend(double h);
  /// State after a fraction `part` of the step, by dense output or else by probe().
  StateView within(double part, double h);
  /// Takes a fraction `part` of the step of length h. The result overwrites x_new_, so the step
  /// itself must be repeated.
  StateView probe(double part, double h);
  /// Locates the events and passages in the step to x_new_. Returns true if the step must be
  /// repeated, or a shorter one taken first.
  bool find_events(double h, double t_new);
  bool find_passages(double h, double t_new);
  [[nodiscard]] bool find_switch(double h, double t_new, double target);
  /// Finds where in the step to x_new_ the condition that ends the run begins to hold. Returns true
  /// if the step must be repeated, or a shorter one taken first.
  [[nodiscard]] bool find_stop(double h, double t_new);
  /// Nearly the shortest fraction of the step of length h after which a function of state and time
  /// is negative. The function is positive before the step and negative after it.
  [[nodiscard]] double first_negative(const std::function<double(StateView, double)>& function,
                                      double h, double before, double after);
  /// Switches the regime; `target` is the end of the current interval.
  void switch_now(double target);
  [[nodiscard]] bool rhs_is_finite();
  /// Known reason why a step from here is not finite.
  [[nodiscard]] std::string cause_of_divergence() const;
  /// If the slope vanishes where a stage begins, shortens the next step, towards `target`.
  void begin_stage(double target);
  [[nodiscard]] bool steady(double h);
  /// Whether the end is out of reach. If so, warns, unless the run stops for this reason or has
  /// been warned before.
  [[nodiscard]] bool stuck();
  /// Tightens the tolerances near the noise floor; returns the norm of the right-hand side at the
  /// tightest tolerance.
  double tighten_near_noise_floor(double norm, double h);
  [[nodiscard]] Outcome ended(Outcome::Kind kind, const std::string& message) const;

  struct Internals;  // stepper, step-size controller, tolerance, right-hand side, events
  Workers& workers_;
  Options options_;
  Regime regime_;
  std::unique_ptr<Internals> in_;
  State x_, x_new_;
  bool inside_interval_ = false;
  bool warned_ = false;              ///< whether the user was warned that the end is out of reach
  double event_before_ = 0;          ///< end of the interval in which an event is known to happen
  std::optional<double> to_switch_;  ///< length of the step that ends at the regime's end
  std::optional<double> to_stop_;    ///< length of the step at whose end the run ends
  bool stop_checked_ = false;        ///< whether the condition that ends the run has been evaluated
  StepStatistics counts_;
  IntervalSteps interval_;
  struct Target {
    State x;
    Regime regime;
    double t = 0;
    DriverData data;
  };
  Target last_target_;  ///< only for methods that resume from targets
};

}  // namespace popflow
