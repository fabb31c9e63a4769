#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "popflow/state.hpp"
#include "popflow/system.hpp"
#include "steppers/stepper.hpp"

namespace popflow {

/// Fractions of a step at which a passage's function is evaluated to locate the passage.
inline constexpr std::array<double, 5> kPassageNodes = {0, 0.25, 0.5, 0.75, 1};
/// Nodes for a longer step.
inline constexpr std::array<double, 9> kFinePassageNodes = {0,     0.125, 0.25,  0.375, 0.5,
                                                            0.625, 0.75,  0.875, 1};
/// Fraction at which the values at `nodes` first become non-negative, by the interpolating
/// polynomial; the last value is non-negative.
double first_root(std::span<const double> nodes, std::span<const double> values);

/// Two neighbouring nodes between which the values become exactly zero, and stay zero at the
/// following node. The zeros may begin anywhere between the two, and the polynomial does not show
/// where. Empty if there are no such nodes.
struct ZeroStretch {
  std::size_t before, zero;  ///< indices of the nodes
};
std::optional<ZeroStretch> zero_stretch(std::span<const double> values);

/// First-passage times of many items, each with its own level. Events are located one by one with
/// steps of the method itself. Passages within one step are located together, by a polynomial of
/// degree four through the values at five points of the step. The error is of the order of the
/// local error of a fifth-order method.
class Passages {
 public:
  /// `events`: the System's capability.
  Passages(const System& system, Capability<Events> events);

  /// Starts a trajectory at x.
  void start(StateView x, double t);
  /// Resumes with the passage times found earlier.
  void restore(StateView x, double t, std::span<const double> times);

  /// Whether every item has passed.
  [[nodiscard]] bool all_passed() const { return left_ == 0; }
  /// Moves the trajectory to x_new. If items pass in this step, keeps the previous point and
  /// returns true; locate the items before the next call.
  bool step_to(StateView x_new, double t_new);
  /// Locates the passing items within the step of length h from t, from their values at
  /// kPassageNodes. `state_at` returns the state after a fraction of the step.
  void locate(double t, double h, const std::function<StateView(double part)>& state_at);
  /// Locates the passing items within a long step, from polynomials of degree eight through the
  /// values at kFinePassageNodes. The step is halved repeatedly until the last term moves no time
  /// by more than `error` steps, or no longer decreases.
  void locate_closely(double t, double h, double error,
                      const std::function<StateView(double part)>& state_at);

  /// Calls step_to() and locates the items, for a step from x to x_new of a trajectory that this
  /// object has not followed. No item may have passed before the step. Uses locate_closely() if
  /// `error` is given, otherwise locate().
  void find(StateView x, double t, double h, StateView x_new, double t_new,
            const std::function<StateView(double part)>& state_at, std::optional<double> error);

  /// Whether the item has passed.
  [[nodiscard]] bool passed(std::size_t item) const { return times_[item] == times_[item]; }
  /// Sign of the change that the item awaits: 1 if its function must become non-negative, -1 if it
  /// must become negative first, 0 if the item has passed.
  [[nodiscard]] int awaits(std::size_t item) const {
    return passed(item) ? 0 : values_[item] < 0 ? 1 : -1;
  }
  /// Records passages that the stepper has located itself.
  void note(std::span<const Passed> passed);

  /// Passage times of all items; NaN if not passed.
  [[nodiscard]] const std::vector<double>& times() const { return times_; }

 private:
  void count_left();
  /// Whether the item passes between the last point and the point given to step_to().
  [[nodiscard]] bool passes(std::size_t item) const {
    return values_[item] < 0 && values_new_[item] >= 0 && !passed(item);
  }
  /// Fraction of the step of length h from t at which a stretch of zeros of the item's function
  /// begins. The stretch begins after `low`, where the function is `at_low`, and no later than
  /// `high`.
  [[nodiscard]] double begin_of_zeros(std::size_t item, double t, double h, double low,
                                      double at_low, double high,
                                      const std::function<StateView(double part)>& state_at);
  /// All items that pass.
  [[nodiscard]] std::vector<std::size_t> passing() const;
  Capability<Events> events_;
  std::vector<double> times_;
  std::vector<double> values_;      ///< at the last point
  std::vector<double> values_new_;  ///< at the point given to step_to()
  std::size_t left_ = 0;
};

}  // namespace popflow
