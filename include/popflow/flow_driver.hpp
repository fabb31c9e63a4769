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

/// Moves a System's state along its population flow.
///
/// Owns the step loop, because odeint's controlled steppers accept a step whose error estimate is
/// NaN. Hits each target exactly and restarts its stepper there, carrying over the step size alone,
/// so that a run interrupted at a target resumes bit for bit.
class FlowDriver : public Driver {
 public:
  struct Options {
    std::string method = "dopri5";  ///< as on the command line
    double rtol = 1e-8;
    double atol = 1e-10;  ///< times each block's scale
    ErrorNorm error_norm = ErrorNorm::largest;
    std::optional<double> dt = {};         ///< fixed step, or first step; required by fixed-step
                                           ///< methods and proximal terms (UsageError)
    std::optional<double> max_step = {};   ///< longest step of an adaptive method; none:
                                           ///< Capabilities::longest_step
    std::int64_t max_steps = 100'000'000;  ///< accepted and rejected together
    std::optional<double> steady_tolerance = {};  ///< stop when steady
    /// Where the whole run is to end: whether its pace leads there is looked at; none: it is not.
    std::optional<double> end = {};
    bool stop_when_stuck = false;  ///< stop when it does not, rather than warn once
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

  /// Here, or (for methods with step memory) at the last target.
  [[nodiscard]] ResumePoint resume_point() const override;
  void restore(State x, Regime regime, double t, const DriverData& data) override;

 private:
  Outcome advance_to(double target) override;
  [[nodiscard]] DriverData data() const;
  void begin_interval();
  [[nodiscard]] bool at_rest() const;
  /// Time of the state, including the rounding error that time() drops.
  [[nodiscard]] double now() const;
  /// Has the step of length h to x_new_ dense output?
  bool extend(double h);
  /// The state after a fraction `part` of that step: by dense output, or else by probe().
  StateView within(double part, double h);
  /// Takes a fraction `part` of the step of length h from here; its result is in x_new_, so the
  /// step itself must be repeated.
  StateView probe(double part, double h);
  /// Locates what happens in the step to x_new_: events, passages. True if the step must be
  /// repeated for that, or a shorter one taken first.
  bool find_events(double h, double t_new);
  bool find_passages(double h, double t_new);
  [[nodiscard]] bool find_switch(double h, double t_new, double target);
  /// `target`: what the current interval leads to.
  void switch_now(double target);
  [[nodiscard]] bool rhs_is_finite();
  /// Reason why a step from here is not finite, as far as known.
  [[nodiscard]] std::string blame() const;
  /// Shortens the next step, towards `target`, if the slope vanishes where a stage begins.
  void begin_stage(double target);
  [[nodiscard]] bool steady(double h);
  /// Is the end out of reach? Then says so, unless the run stops for it or was told of it before.
  [[nodiscard]] bool stuck();
  /// Returns the norm of the right-hand side that the tightest tolerance leaves.
  double tighten_near_noise_floor(double norm, double h);
  [[nodiscard]] Outcome ended(Outcome::Kind kind, const std::string& message) const;

  struct Internals;  // stepper, step-size controller, tolerance, right-hand side, events
  Workers& workers_;
  Options options_;
  Regime regime_;
  std::unique_ptr<Internals> in_;
  State x_, x_new_;
  bool inside_interval_ = false;
  bool warned_ = false;              ///< that the end is out of reach
  double event_by_ = 0;              ///< an event is known to be before; of no use from then on
  std::optional<double> to_switch_;  ///< length of the step that ends where the regime does
  StepStatistics counts_;
  IntervalSteps interval_;
  struct Target {
    State x;
    Regime regime;
    double t = 0;
    DriverData data;
  };
  Target last_target_;  ///< only for methods that resume from targets alone
};

}  // namespace popflow
