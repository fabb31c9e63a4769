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

/// Numbers under names: what a driver must remember besides the state to resume bit for bit.
class DriverData {
 public:
  /// Adds numbers under a name that is not taken (std::logic_error).
  void add(const std::string& name, std::span<const double> numbers);
  void add(const std::string& name, double number) { add(name, std::span(&number, 1)); }
  void add(const std::string& name, std::int64_t count) { add(name, static_cast<double>(count)); }
  void add(const std::string& name, const IntervalSteps& steps);

  // Numbers added under a name; std::invalid_argument if there are none, or if they have another
  // form.
  [[nodiscard]] std::span<const double> numbers(const std::string& name) const;
  [[nodiscard]] double number(const std::string& name) const;
  [[nodiscard]] std::int64_t count(const std::string& name) const;
  [[nodiscard]] IntervalSteps interval(const std::string& name) const;

  /// Names and lengths, by which data of another layout are recognised: "dt:1 events:8".
  [[nodiscard]] std::string layout() const;
  /// All numbers, one name's after another's.
  [[nodiscard]] const std::vector<double>& values() const { return values_; }
  /// Data with the same names and other numbers; std::invalid_argument unless they are as many.
  [[nodiscard]] DriverData with(std::vector<double> values) const;

 private:
  struct Entry {
    std::string name;
    std::size_t begin = 0;
    std::size_t size = 0;
  };
  std::vector<Entry> entries_;
  std::vector<double> values_;
};

/// Restart data: all that a driver must know to resume bit for bit.
struct ResumePoint {
  const State* x = nullptr;
  const Regime* regime = nullptr;
  double t = 0;
  DriverData data;
};

/// Moves a System's state: along its flow, along a noisy flow, or by sampled gradient steps. Its
/// one operation is to advance to a time.
class Driver {
 public:
  virtual ~Driver() = default;

  /// Moves up to `target` (not before the current time), exactly. If it ends otherwise than
  /// reached, state() and time() are the last good ones. std::invalid_argument if it is NaN or
  /// infinite.
  Outcome advance(double target);

  [[nodiscard]] virtual const State& state() const = 0;
  [[nodiscard]] virtual const Regime& regime() const = 0;
  [[nodiscard]] StateView view() const { return {state(), regime()}; }
  [[nodiscard]] virtual double time() const = 0;
  [[nodiscard]] virtual StepStatistics statistics() const = 0;
  /// Steps since the last target that was reached before the current one.
  [[nodiscard]] virtual const IntervalSteps& interval() const = 0;
  /// Events found so far, in order of time.
  [[nodiscard]] virtual const std::vector<FoundEvent>& events() const = 0;
  /// When each item of the System's passages passed its level; NaN: not yet.
  [[nodiscard]] virtual const std::vector<double>& passages() const = 0;

  /// The point from which the run can be resumed.
  [[nodiscard]] virtual ResumePoint resume_point() const = 0;
  /// Resumes from a resume point; std::invalid_argument for one of another system or driver.
  virtual void restore(State x, Regime regime, double t, const DriverData& data) = 0;

 private:
  /// advance() to a time that is a number.
  virtual Outcome advance_to(double target) = 0;
};

/// Callbacks that every driver gets from the experiment around it.
struct DriverHooks {
  /// Asked before every step; of large noisy states, every so many.
  std::function<bool()> interrupted = {};
  /// Called with the time after every step, of flows after every accepted one.
  std::function<void(double)> on_step = {};
  /// Called with a sentence for the user.
  std::function<void(const std::string&)> warn = {};
};

}  // namespace popflow
