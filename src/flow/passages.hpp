#pragma once

#include <functional>
#include <span>
#include <vector>

#include "popflow/state.hpp"
#include "popflow/system.hpp"

namespace popflow {

/// First times at which many items each pass their level. Unlike events, which are located one by
/// one by steps of the method itself, all that pass within one step are located together, on the
/// polynomial of degree four through values at five points of the step; its error is of the order
/// of the local error of a method of order five.
class Passages {
 public:
  explicit Passages(const System& system);

  /// Nothing has passed yet but what is beyond its level at the start.
  void start(const State& x, double t);
  /// Goes on with times found earlier.
  void restore(const State& x, double t, std::span<const double> times);

  /// Has every item passed?
  [[nodiscard]] bool none_left() const { return left_ == 0; }
  /// The trajectory goes on to x_new. If items pass on the way, stays at the last point and returns
  /// true: they must be located first.
  bool step_to(const State& x_new, double t_new);
  /// Locates them within the step of length h from t; `state_at` gives the state after a part of
  /// it.
  void locate(double t, double h, const std::function<const State&(double part)>& state_at);

  /// Of all items; NaN: not yet.
  [[nodiscard]] const std::vector<double>& times() const { return times_; }

 private:
  void count_left();
  const System& system_;
  std::vector<double> times_;
  std::vector<double> values_;      ///< at the last point
  std::vector<double> values_new_;  ///< at the point that step_to() was asked for
  std::size_t left_ = 0;
};

}  // namespace popflow
