#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "popflow/outcome.hpp"
#include "popflow/state.hpp"
#include "popflow/system.hpp"

namespace popflow {

class Stepper;

/// An event of the System that has happened: which (its place in Shape::events), and when.
struct FoundEvent {
  std::size_t event = 0;
  double time = 0;
};

/// Counts of a driver's work.
struct StepStatistics {
  std::int64_t evaluations = 0;  ///< of the right-hand side
  std::int64_t accepted = 0;
  std::int64_t rejected = 0;
};

/// Steps between two targets.
struct IntervalSteps {
  std::int64_t number = 0;
  double smallest = std::numeric_limits<double>::quiet_NaN();
  double largest = std::numeric_limits<double>::quiet_NaN();
};

/// Moves a System's state along its population flow.
///
/// Owns the step loop, because odeint's controlled steppers take a NaN error estimate for a small
/// one. Arrives exactly at each target and starts its stepper afresh there, carrying the step size
/// alone, so that a run cut at a target goes on to the same bits.
class FlowDriver {
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
  ~FlowDriver();

  /// Integrates up to `target` (not before the current time). If it ends otherwise than reached,
  /// state() and time() are the last good ones.
  Outcome advance(double target);

  [[nodiscard]] const State& state() const { return x_; }
  [[nodiscard]] double time() const { return t_; }
  [[nodiscard]] StepStatistics statistics() const;
  /// Steps since the last target that was reached before the current one.
  [[nodiscard]] const IntervalSteps& interval() const { return interval_; }
  /// Those found so far, in the order of time.
  [[nodiscard]] const std::vector<FoundEvent>& events() const { return found_; }

  /// When each item of the System's passages passed its level; NaN: not yet.
  [[nodiscard]] const std::vector<double>& passages() const;

  /// All that a driver must know beside the state to go on to the same bits, as numbers.
  struct ResumePoint {
    const State* x = nullptr;
    double t = 0;
    std::vector<double> memory;
  };
  /// Length of ResumePoint::memory for a system.
  static std::size_t memory_size(const System& system);
  /// From where the run can be resumed: here, or (methods with a private memory) the last target.
  [[nodiscard]] ResumePoint resume_point() const;
  /// Goes on from a resume point; `x` must have the system's size.
  void restore(State x, double t, const std::vector<double>& memory);

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
