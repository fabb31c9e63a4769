#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "popflow/outcome.hpp"
#include "popflow/state.hpp"

namespace popflow {

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
  std::int64_t samples = 0;  ///< per-sample gradients
};

/// Steps between two targets.
struct IntervalSteps {
  std::int64_t number = 0;
  double smallest = std::numeric_limits<double>::quiet_NaN();
  double largest = std::numeric_limits<double>::quiet_NaN();
};

/// All that a driver must know beside the state to go on to the same bits, as numbers.
struct ResumePoint {
  const State* x = nullptr;
  double t = 0;
  std::vector<double> memory;
};

/// Moves a System's state: along its flow, along a noisy flow, or by sampled gradient steps. One
/// way in: advance to a time.
class Driver {
 public:
  virtual ~Driver() = default;

  /// Moves up to `target` (not before the current time), exactly. If it ends otherwise than
  /// reached, state() and time() are the last good ones.
  virtual Outcome advance(double target) = 0;

  [[nodiscard]] virtual const State& state() const = 0;
  [[nodiscard]] virtual double time() const = 0;
  [[nodiscard]] virtual StepStatistics statistics() const = 0;
  /// Steps since the last target that was reached before the current one.
  [[nodiscard]] virtual const IntervalSteps& interval() const = 0;
  /// Those found so far, in the order of time.
  [[nodiscard]] virtual const std::vector<FoundEvent>& events() const = 0;
  /// When each item of the System's passages passed its level; NaN: not yet.
  [[nodiscard]] virtual const std::vector<double>& passages() const = 0;

  /// Length of ResumePoint::memory.
  [[nodiscard]] virtual std::size_t memory_size() const = 0;
  /// From where the run can be resumed.
  [[nodiscard]] virtual ResumePoint resume_point() const = 0;
  /// Goes on from a resume point; std::invalid_argument for one of another system or driver.
  virtual void restore(State x, double t, const std::vector<double>& memory) = 0;
};

/// What every driver is told by the experiment around it.
struct DriverHooks {
  std::function<bool()> interrupted = {};    ///< asked before every step
  std::function<void(double)> on_step = {};  ///< told the time after every step
};

}  // namespace popflow
