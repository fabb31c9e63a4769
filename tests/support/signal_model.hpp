#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <functional>

#include "support/scb_fixture.hpp"

/// Integrates the signal equations by a classical Runge-Kutta method. Steps are so small that only
/// rounding errors remain: a reference independent of the program.
namespace popflow::scb::test {

class SignalModel {
 public:
  using Point = Eigen::Vector3d;  ///< alpha_V, rho_V, alpha_A

  /// `attention_rate` multiplies the attention's equation (1/T^2: softmax near its start).
  explicit SignalModel(const SignalConstants& constants, double attention_rate = 1)
      : c_(constants), attention_rate_(attention_rate) {}

  [[nodiscard]] Point velocity(const Point& p) const {
    const auto [V, rho, A] = std::tuple(p[0], p[1], p[2]);
    const double PV = rho * c_.x + V * c_.K_P;
    const double VV = rho * rho * c_.y + 2 * rho * V * c_.x + V * V * c_.K_P;
    return {(1 - V) / c_.T + c_.kappa * A * (1 - V * A), -(1 / c_.T + c_.kappa * A * A) * rho,
            attention_rate_ * (PV - VV * A)};
  }

  /// Takes one step of length h.
  [[nodiscard]] Point step(const Point& p, double h) const {
    const Point a = velocity(p);
    const Point b = velocity(p + h / 2 * a);
    const Point c = velocity(p + h / 2 * b);
    const Point d = velocity(p + h * c);
    return p + h / 6 * (a + 2 * b + 2 * c + d);
  }

  /// Integrates from p over a time, in steps of at most h.
  [[nodiscard]] Point flow(Point p, double time, double h) const {
    const double steps = std::ceil(time / h);
    for (double i = 0; i < steps; ++i) p = step(p, time / steps);
    return p;
  }

  /// Returns the first time after `from` at which a function of (signal_V, signal_A) is not
  /// negative, found by steps of h and bisection of one step.
  [[nodiscard]] double first_time(const std::function<double(double, double)>& of_signals,
                                  double from, double h) const {
    const auto of = [&](const Point& p) { return of_signals(signal_V(p), p[2]); };
    Point p = flow({0, 1, 0}, from, h);
    double t = from;
    for (Point next = step(p, h); of(next) < 0; next = step(p, h)) {
      p = next;
      t += h;
    }
    double low = 0;
    double high = h;
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      (of(step(p, middle)) < 0 ? low : high) = middle;
    }
    return t + high;
  }

  [[nodiscard]] double signal_V(const Point& p) const { return p[1] * c_.x / c_.K_P + p[0]; }

 private:
  SignalConstants c_;
  double attention_rate_;
};

}  // namespace popflow::scb::test
