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

/// The places in a step (0 to 1) at which a passage's function is known, to locate it.
inline constexpr std::array<double, 5> kPassageNodes = {0, 0.25, 0.5, 0.75, 1};
/// And in a longer one.
inline constexpr std::array<double, 9> kFinePassageNodes = {0,     0.125, 0.25,  0.375, 0.5,
                                                            0.625, 0.75,  0.875, 1};
/// Place where the values at `nodes` first become non-negative, by the polynomial through them; the
/// last value is non-negative.
double first_root(std::span<const double> nodes, std::span<const double> values);

/// Two neighbouring nodes between which the values come to exactly zero, and stay there at the next
/// node, if there is one: a stretch of zeros may begin anywhere between the two, and the polynomial
/// does not tell where.
struct ZeroStretch {
  std::size_t before, zero;  ///< numbers of the nodes
};
std::optional<ZeroStretch> zero_stretch(std::span<const double> values);

/// First times at which many items each pass their level. Unlike events, which are located one by
/// one by steps of the method itself, all that pass within one step are located together, on the
/// polynomial of degree four through values at five points of the step; its error is of the order
/// of the local error of a method of order five.
class Passages {
 public:
  /// `events`: the system's capability.
  Passages(const System& system, Capability<Events> events);

  /// At the start only those items have passed that are beyond their level there.
  void start(StateView x, double t);
  /// Resumes with times found earlier.
  void restore(StateView x, double t, std::span<const double> times);

  /// Has every item passed?
  [[nodiscard]] bool none_left() const { return left_ == 0; }
  /// The trajectory moves to x_new. If items pass on the way, stays at the last point and returns
  /// true: they must be located first.
  bool step_to(StateView x_new, double t_new);
  /// Locates them within the step of length h from t, by their values at kPassageNodes; `state_at`
  /// gives the state after a fraction of it.
  void locate(double t, double h, const std::function<StateView(double part)>& state_at);
  /// The same for long steps, by the polynomials of degree eight through values at
  /// kFinePassageNodes of the step, and of halves of it, and of their halves, until their last term
  /// moves no time by more than `error` steps, or does not get smaller.
  void locate_closely(double t, double h, double error,
                      const std::function<StateView(double part)>& state_at);

  /// Does both, for a step from x to x_new before which nothing has passed, of a trajectory that
  /// has not been followed here: locate_closely() if there is an `error`, else locate().
  void find(StateView x, double t, double h, StateView x_new, double t_new,
            const std::function<StateView(double part)>& state_at, std::optional<double> error);

  /// Has this one?
  [[nodiscard]] bool passed(std::size_t item) const { return times_[item] == times_[item]; }
  /// Takes down what the stepper has located by itself.
  void note(std::span<const Passed> passed);

  /// Of all items; NaN: not yet.
  [[nodiscard]] const std::vector<double>& times() const { return times_; }

 private:
  void count_left();
  /// Place in a step of length h from t where the item's function comes to a stretch of zeros that
  /// begins after `low`, where the function is `at_low`, and by `high`.
  [[nodiscard]] double begin_of_zeros(std::size_t item, double t, double h, double low,
                                      double at_low, double high,
                                      const std::function<StateView(double part)>& state_at);
  /// Those that pass on the way to the point given to step_to().
  [[nodiscard]] std::vector<std::size_t> passing() const;
  Capability<Events> events_;
  std::vector<double> times_;
  std::vector<double> values_;      ///< at the last point
  std::vector<double> values_new_;  ///< at the point given to step_to()
  std::size_t left_ = 0;
};

}  // namespace popflow
