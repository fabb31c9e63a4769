#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "popflow/outcome.hpp"
#include "popflow/state.hpp"
#include "popflow/state_view.hpp"

namespace popflow {

/// An event of the System that has happened: its index in Shape::events, and its time.
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

/// Named numbers: the data besides the state that a driver needs to resume bit for bit.
class DriverData {
 public:
  /// Adds numbers under a new name (otherwise std::logic_error).
  void add(const std::string& name, std::span<const double> numbers);
  void add(const std::string& name, double number) { add(name, std::span(&number, 1)); }
  void add(const std::string& name, std::int64_t count) { add(name, static_cast<double>(count)); }
  void add(const std::string& name, const IntervalSteps& steps);

  // Numbers stored under a name; std::invalid_argument if they are missing or have another form.
  [[nodiscard]] std::span<const double> numbers(const std::string& name) const;
  [[nodiscard]] double number(const std::string& name) const;
  [[nodiscard]] std::int64_t count(const std::string& name) const;
  [[nodiscard]] IntervalSteps interval(const std::string& name) const;

  /// Names and lengths, which identify the layout of the data: "dt:1 events:8".
  [[nodiscard]] std::string layout() const;
  /// All numbers, concatenated in the order of their names.
  [[nodiscard]] const std::vector<double>& values() const { return values_; }
  /// Replaces the numbers stored under a name; throws like numbers().
  void set(const std::string& name, std::span<const double> numbers);
  void set(const std::string& name, std::int64_t count) {
    const auto number = static_cast<double>(count);
    set(name, std::span(&number, 1));
  }
  /// A copy with the same names and other numbers; std::invalid_argument unless the count matches.
  [[nodiscard]] DriverData with(std::vector<double> values) const;

 private:
  struct Entry {
    std::string name;
    std::size_t begin = 0;
    std::size_t size = 0;
  };
  [[nodiscard]] const Entry& entry(const std::string& name) const;
  std::vector<Entry> entries_;
  std::vector<double> values_;
};

/// Checkpoint: all data that a driver needs to resume bit for bit. A flow that is recorded within a
/// step resumes from the start of this step.
struct ResumePoint {
  const State* x = nullptr;
  const Regime* regime = nullptr;
  double t = 0;
  DriverData data;
  std::size_t targets_after = 0;  ///< number of targets that were reached later
};

/// Advances a System's state: along its flow, along a noisy flow, or by sampled gradient steps. The
/// single operation is to advance to a time.
class Driver {
 public:
  virtual ~Driver() = default;

  /// Advances to exactly `target` (not before the current time). If the outcome is not `reached`,
  /// state() and time() are the last valid ones. Throws std::invalid_argument if `target` is NaN or
  /// infinite.
  Outcome advance(double target) { return advance(std::span(&target, 1)); }
  /// Advances to the first of `targets`: the increasing times, at least one, at which the state is
  /// wanted. A flow may compute the states at all but the last from the dense output of its steps,
  /// which do not depend on these times then. Throws like above.
  Outcome advance(std::span<const double> targets);

  [[nodiscard]] virtual const State& state() const = 0;
  [[nodiscard]] virtual const Regime& regime() const = 0;
  [[nodiscard]] StateView view() const { return {state(), regime()}; }
  [[nodiscard]] virtual double time() const = 0;
  [[nodiscard]] virtual StepStatistics statistics() const = 0;
  /// Steps that end after the last but one target that was reached, up to the last one.
  [[nodiscard]] virtual const IntervalSteps& interval() const = 0;
  /// Events found so far, in order of time.
  [[nodiscard]] virtual const std::vector<FoundEvent>& events() const = 0;
  /// Time at which each item of the System's passages passed its level; NaN: not yet.
  [[nodiscard]] virtual const std::vector<double>& passages() const = 0;

  /// Checkpoint from which the run can be resumed.
  [[nodiscard]] virtual ResumePoint resume_point() const = 0;
  /// Resumes from a checkpoint; std::invalid_argument if it belongs to another system or driver.
  virtual void restore(State x, Regime regime, double t, const DriverData& data) = 0;

 private:
  /// Implements advance() for a finite time.
  virtual Outcome advance_to(double target) = 0;
  /// Implements advance() for finite times.
  virtual Outcome advance_on(std::span<const double> targets) {
    return advance_to(targets.front());
  }
};

/// Callbacks of a driver, set by the experiment around it.
struct DriverHooks {
  /// Called before every step; less often for large noisy states. Returns true to stop.
  std::function<bool()> interrupted = {};
  /// Called with the time after every step, for flows after every accepted step.
  std::function<void(double)> on_step = {};
  /// Called with a warning for the user.
  std::function<void(const std::string&)> warn = {};
};

}  // namespace popflow
