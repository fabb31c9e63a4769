#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "popflow/driver.hpp"
#include "popflow/error_norm.hpp"
#include "popflow/system.hpp"
#include "popflow/table_row.hpp"
#include "popflow/workers.hpp"

namespace popflow {

class Stepper;
struct FlowMethod;
const FlowMethod& flow_method(std::string_view name);
using FlowMethodRow = TableRow<FlowMethod, flow_method>;

/// Advances a System's state along its population flow.
///
/// Has its own step loop, because odeint's controlled steppers accept a step whose error estimate
/// is NaN. An adaptive step ends at the last target only, and where the right-hand side or a
/// condition demands it; states at targets within a step do not change the steps. Methods with
/// fixed steps and operator splitting end a step at each target.
class FlowDriver : public Driver {
 public:
  struct Options {
    FlowMethodRow method = "dopri5";
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

  [[nodiscard]] const State& state() const override;
  [[nodiscard]] const Regime& regime() const override { return regime_; }
  [[nodiscard]] double time() const override;
  [[nodiscard]] StepStatistics statistics() const override;
  [[nodiscard]] const IntervalSteps& interval() const override { return interval_; }
  [[nodiscard]] const std::vector<FoundEvent>& events() const override;
  [[nodiscard]] const std::vector<double>& passages() const override;

  /// Checkpoint at the end of the last step, or before: at the start of a step that contains
  /// targets, before the first step whose length the end has changed, so that an extended run takes
  /// the steps of a longer one, and for methods with step memory where this memory was last
  /// cleared.
  [[nodiscard]] ResumePoint resume_point() const override;
  void restore(State x, Regime regime, double t, const DriverData& data) override;

 private:
  Outcome advance_to(double target) override { return advance_on({&target, 1}); }
  Outcome advance_on(std::span<const double> targets) override;
  [[nodiscard]] DriverData data() const;
  /// Clears the stepper's memory of earlier steps.
  void restart();
  /// Accepts the trial step that is ready, and returns the outcome if the run ends there.
  [[nodiscard]] std::optional<Outcome> take_step(double target, double end);
  /// Computes the state at a target within the step that is ready.
  void record(double target);
  /// End of the next step at the latest: the end, or just before a kink of the learning rate.
  [[nodiscard]] double next_stop(double end) const;
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
  [[nodiscard]] bool find_switch(double h, double t_new, double end);
  /// Finds where in the step to x_new_ the condition that ends the run begins to hold. Returns true
  /// if the step must be repeated, or a shorter one taken first.
  [[nodiscard]] bool find_stop(double h, double t_new);
  /// Nearly the shortest fraction of the step of length h after which a function of state and time
  /// is negative. The function is positive before the step and negative after it.
  [[nodiscard]] double first_negative(const std::function<double(StateView, double)>& function,
                                      double h, double before, double after);
  /// Switches the regime; `end` is the last target.
  void switch_now(double end);
  [[nodiscard]] bool rhs_is_finite();
  /// Known reason why a step from here is not finite.
  [[nodiscard]] std::string cause_of_divergence() const;
  /// If the slope vanishes where a stage begins, shortens the next step.
  void begin_stage();
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
  bool underway_ = false;                ///< whether the last of the targets is still ahead
  bool inside_interval_ = false;         ///< whether the next target is still ahead
  std::optional<double> recorded_ = {};  ///< time of the state, if it is within a step
  std::int64_t since_restart_ = 0;       ///< number of steps since restart()
  bool warned_ = false;              ///< whether the user was warned that the end is out of reach
  double event_before_ = 0;          ///< end of the interval in which an event is known to happen
  std::optional<double> to_switch_;  ///< length of the step that ends at the regime's end
  std::optional<double> to_stop_;    ///< length of the step at whose end the run ends
  bool stop_checked_ = false;        ///< whether the condition that ends the run has been evaluated
  StepStatistics counts_;
  IntervalSteps interval_;
  /// Place from which the run can be resumed.
  struct Place {
    State x;
    Regime regime;
    double t = 0;
    DriverData data;
    std::size_t targets = 0;  ///< number of targets reached since
  };
  [[nodiscard]] Place here() const { return {x_, regime_, time(), data()}; }
  std::optional<Place> place_;  ///< empty: the run can be resumed from the last step
};

}  // namespace popflow
