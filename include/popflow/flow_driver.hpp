#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "popflow/driver.hpp"
#include "popflow/system.hpp"

namespace popflow {

class Stepper;

/// Moves a System's state along its population flow.
///
/// Owns the step loop, because odeint's controlled steppers take a NaN error estimate for a small
/// one. Arrives exactly at each target and starts its stepper afresh there, carrying the step size
/// alone, so that a run cut at a target goes on to the same bits.
class FlowDriver : public Driver {
 public:
  struct Options {
    std::string method = "dopri5";  ///< as on the command line
    double rtol = 1e-8;
    double atol = 1e-10;                   ///< times each block's scale
    std::optional<double> dt = {};         ///< fixed step, or first step; a must for fixed-step
                                           ///< methods and proximal terms (UsageError)
    std::int64_t max_steps = 100'000'000;  ///< accepted and rejected together
    std::optional<double> steady_tolerance = {};  ///< stop when steady
    std::function<bool()> interrupted = {};       ///< asked before every step
    std::function<void(double)> on_step = {};     ///< told the time after every accepted step
  };

  /// Starts at the System's start and time 0.
  FlowDriver(const System& system, Workers& workers, Options options);
  ~FlowDriver() override;

  Outcome advance(double target) override;
  [[nodiscard]] const State& state() const override { return x_; }
  [[nodiscard]] double time() const override { return t_; }
  [[nodiscard]] StepStatistics statistics() const override;
  [[nodiscard]] const IntervalSteps& interval() const override { return interval_; }
  [[nodiscard]] const std::vector<FoundEvent>& events() const override { return found_; }
  [[nodiscard]] const std::vector<double>& passages() const override;

  [[nodiscard]] std::size_t memory_size() const override;
  /// Here, or (methods with a private memory) at the last target.
  [[nodiscard]] ResumePoint resume_point() const override;
  void restore(State x, double t, const std::vector<double>& memory) override;

 private:
  struct Watch;  // of one event
  [[nodiscard]] std::vector<double> memory() const;
  void begin_interval();
  [[nodiscard]] double first_step(double target);
  [[nodiscard]] bool watching() const;
  void arm(std::size_t event, double time, const std::vector<double>& values);
  bool find_events(double h, double t_new);
  [[nodiscard]] double locate(std::size_t event, double h, double g_new);
  void probe(double span);
  bool find_passages(double h, double t_new);
  /// The least of the switch functions; 1 if there are none.
  [[nodiscard]] double lowest_switch(const State& x, double t) const;
  [[nodiscard]] bool find_switch(double h, double t_new);
  void switch_now();
  [[nodiscard]] std::vector<double> event_values(const State& x, double t) const;
  [[nodiscard]] bool rhs_is_finite();
  [[nodiscard]] Outcome underflow(bool finite);
  [[nodiscard]] bool steady(double h);
  void still_the_noise(double norm, double h);
  [[nodiscard]] Outcome ended(Outcome::Kind kind, const std::string& message) const;

  struct Internals;  // stepper, tolerance, right-hand side, passages
  const System& system_;
  Workers& workers_;
  Options options_;
  std::unique_ptr<Internals> in_;
  State x_, x_new_;
  double t_ = 0;
  double dt_ = 0;  ///< step size to try next; 0: none chosen yet
  bool inside_interval_ = false;
  std::optional<double> to_switch_;  ///< length of the step that ends where the mode does
  StepStatistics counts_;
  IntervalSteps interval_;
  std::vector<Watch> watches_;
  std::vector<FoundEvent> found_;
  /// How the norm of the right-hand side has been since it fell below the steady tolerance.
  struct Quiet {
    double since = -1;  ///< negative: it is not below
    double first = 0;
    double last = 0;
    double low = 0;  ///< where its present rise began
  };
  Quiet quiet_;
  State at_target_;  ///< only for methods that resume from targets alone
  double t_at_target_ = 0;
  std::vector<double> memory_at_target_;
};

}  // namespace popflow
