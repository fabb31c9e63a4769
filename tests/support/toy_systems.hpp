#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "popflow/system.hpp"

namespace popflow::test {

/// System made of functions, for tests of drivers and steppers. A function left empty is a
/// capability that the system lacks.
struct Toy {
  using Function = std::function<void(StateView x, double t, std::span<double> out)>;

  std::vector<double> start;
  Function rhs;
  double scale = 1;  ///< natural size of all entries
  std::vector<EventInfo> events = {};
  Function event_functions = {};
  /// Computes d(dx_i/dt)/dx_j in row-major order, and the explicit time derivative.
  std::function<void(std::span<const double> x, double t, std::span<double> j,
                     std::span<double> time_derivative)>
      jacobian = {};
  std::function<void(std::span<double> x, double dt)> proximal = {};
  bool jumps = false;
  bool estimates_error = false;  ///< whether steps of the proximal term have an error estimate
  std::size_t items = 0;         ///< number of items of one passage
  Function passage_functions = {};
  Regime regime = {};  ///< regime of the start
  std::size_t switches = 0;
  Function switch_functions = {};
  std::function<void(std::span<double> x, std::span<double> regime, double t)> switch_regime = {};
  /// Adds v_i of one sample times its weight.
  std::function<void(StateView x, RandomStream& random, double weight, std::span<double> out)>
      sample = {};
  std::function<double(StateView x, double t)> event_height = {};
};

class ToySystem : public System,
                  public Jacobian,
                  public Events,
                  public Proximal,
                  public Sampled,
                  public Switching {
 public:
  explicit ToySystem(Toy toy) : toy_(std::move(toy)) {
    info_.name = "toy";
    info_.title = "a system of a test";
    info_.events = toy_.events;
    shape_.blocks = {{"x", toy_.start.size(), toy_.scale}};
    for (const EventInfo& event : toy_.events) shape_.events.push_back(event.name);
    if (toy_.items == 0) return;
    info_.passages = {{"passed", {"item"}, "", "time of passing", "a test"}};
    shape_.passages = {"passed"};
    shape_.dimensions.push_back({"item", toy_.items, DimensionSpec::Coordinate::index, {}, {}});
  }

  [[nodiscard]] const SystemInfo& info() const override { return info_; }
  [[nodiscard]] const Shape& shape() const override { return shape_; }
  [[nodiscard]] Capabilities capabilities() const override {
    Capabilities can;
    can.events = this;
    if (toy_.jacobian) can.jacobian = this;
    if (toy_.proximal) can.proximal = this;
    if (toy_.sample) can.sampled = this;
    if (toy_.switches > 0) can.switching = this;
    can.jumps = toy_.jumps;
    return can;
  }
  [[nodiscard]] double default_end() const override { return 1; }
  void start(std::span<double> x) const override {
    std::copy(toy_.start.begin(), toy_.start.end(), x.begin());
  }
  void rhs(StateView x, double t, std::span<double> dxdt) const override { toy_.rhs(x, t, dxdt); }
  void jacobian(StateView x, double t, Eigen::Ref<Eigen::MatrixXd> j,
                std::span<double> time_derivative) const override {
    using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    RowMajor rows = RowMajor::Zero(j.rows(), j.cols());
    std::fill(time_derivative.begin(), time_derivative.end(), 0.0);
    toy_.jacobian(x, t, {rows.data(), static_cast<std::size_t>(rows.size())}, time_derivative);
    j = rows;
  }
  [[nodiscard]] std::string proximal_term() const override { return "the term of a test"; }
  [[nodiscard]] bool estimates_error() const override { return toy_.estimates_error; }
  void proximal(std::span<double> x, std::span<const double> /*regime*/, double dt) const override {
    toy_.proximal(x, dt);
  }
  void observe(StateView /*x*/, double /*t*/, std::span<double> /*values*/) const override {}
  void field(std::string_view /*name*/, StateView /*x*/, double /*t*/,
             const FieldSink& /*sink*/) const override {}
  void event_functions(StateView x, double t, std::span<double> values) const override {
    if (toy_.event_functions) toy_.event_functions(x, t, values);
  }
  double event_height(std::size_t /*event*/, StateView x, double t) const override {
    return toy_.event_height(x, t);
  }
  /// Returns the least accurate value that is allowed.
  double rough_event_height(std::size_t event, StateView x, double t, double low,
                            double high) const override {
    const double height = event_height(event, x, t);
    if (!(low < height && height < high)) return height;
    return std::isfinite(low) ? high - 1e-6 * (high - low) : height - 1;
  }
  void passage_functions(StateView x, double t, std::span<double> values) const override {
    toy_.passage_functions(x, t, values);
  }
  void add_sampled(StateView x, double /*t*/, const SampleKey& key, std::span<const double> weights,
                   std::span<double> out) const override {
    const std::vector<double> here(x.begin(), x.end());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      RandomStream random = key.stream(i);
      toy_.sample({here, x.regime}, random, weights[i], out);
    }
  }
  [[nodiscard]] Regime first_regime() const override { return toy_.regime; }
  [[nodiscard]] std::size_t switches() const override { return toy_.switches; }
  void switch_functions(StateView x, double t, std::span<double> values) const override {
    toy_.switch_functions(x, t, values);
  }
  void switch_regime(std::span<double> x, std::span<double> regime, double t) const override {
    toy_.switch_regime(x, regime, t);
  }

 protected:
  SystemInfo info_;
  Shape shape_;

 private:
  Toy toy_;
};

/// Returns one equation x' = f(x, t), with its Jacobian by finite differences.
inline Toy one(double start, std::function<double(double x, double t)> f) {
  Toy toy;
  toy.start = {start};
  toy.rhs = [f](auto x, double t, auto out) { out[0] = f(x[0], t); };
  toy.jacobian = [f](auto x, double t, auto j, auto time_derivative) {
    const double dx = 1e-6 * std::max(1.0, std::abs(x[0]));
    j[0] = (f(x[0] + dx, t) - f(x[0] - dx, t)) / (2 * dx);
    time_derivative[0] = (f(x[0], t + 1e-6) - f(x[0], t - 1e-6)) / 2e-6;
  };
  return toy;
}

/// Returns x'' = -x from (1, 0): x = cos t, y = -sin t.
inline Toy oscillator() {
  Toy toy;
  toy.start = {1, 0};
  toy.rhs = [](auto x, double, auto out) {
    out[0] = x[1];
    out[1] = -x[0];
  };
  toy.jacobian = [](auto, double, auto j, auto) {
    j[1] = 1;
    j[2] = -1;
  };
  return toy;
}

/// Returns x' = -rate x: x0 e^(-rate t).
inline Toy decay(double rate = 1, double start = 1) {
  return one(start, [rate](double x, double) { return -rate * x; });
}

/// Returns x' = rate x, which leaves a saddle at 0 and becomes non-finite in the end.
inline Toy growth(double rate = 1, double start = 1) { return decay(-rate, start); }

/// Returns x' = x^2: 1 / (1/x0 - t), which blows up at 1/x0.
inline Toy square(double start) {
  return one(start, [](double x, double) { return x * x; });
}

/// Returns x' = e^(x^2/2) sqrt(pi/2) from 0: erf(x/sqrt 2) = t. It blows up at t = 1, but so slowly
/// that x is still below 10 when 1 - t rounds to zero.
inline Toy slow_blow_up() {
  return one(0,
             [](double x, double) { return std::exp(x * x / 2) * std::sqrt(std::acos(-1) / 2); });
}

/// Returns x' = sqrt(1 - t), which is NaN beyond t = 1: x(1) = 2/3.
inline Toy no_number_after_1() {
  Toy toy = one(0, [](double, double t) { return std::sqrt(1 - t); });
  toy.jacobian = [](auto, double t, auto, auto time_derivative) {
    time_derivative[0] = -0.5 / std::sqrt(1 - t);
  };
  return toy;
}

/// Returns x' = NaN everywhere.
inline Toy no_number() {
  return one(1, [](double, double) { return std::numeric_limits<double>::quiet_NaN(); });
}

/// Returns x' = 1 from 0 up to x = 1, and -size beyond: x slides along 1 from t = 1 on.
inline Toy slide(double size) {
  Toy toy = one(0, [size](double x, double) { return x < 1 ? 1 : -size; });
  toy.jacobian = [](auto, double, auto, auto) {};
  return toy;
}

/// Returns x' = -x, y' = -rate (y - x) from (1, 0), which moves fast towards y = x rate / (rate -
/// 1), then slowly.
inline Toy stiff_pair(double rate) {
  Toy toy;
  toy.start = {1, 0};
  toy.rhs = [rate](auto x, double, auto out) {
    out[0] = -x[0];
    out[1] = -rate * (x[1] - x[0]);
  };
  toy.jacobian = [rate](auto, double, auto j, auto) {
    j[0] = -1;
    j[2] = rate;
    j[3] = -rate;
  };
  return toy;
}

/// Returns x' = cos(t) x from 1: x = e^(sin t).
inline Toy driven() {
  Toy toy;
  toy.start = {1};
  toy.rhs = [](auto x, double t, auto out) { out[0] = std::cos(t) * x[0]; };
  toy.jacobian = [](auto x, double t, auto j, auto time_derivative) {
    j[0] = std::cos(t);
    time_derivative[0] = -std::sin(t) * x[0];
  };
  return toy;
}

/// Returns the gradient flow of (x - target)^2 / 2 + lambda |x|, the second term by its proximal
/// map. From x0 > 0 with target < lambda, x = (target - lambda) + (x0 - target + lambda) e^(-t)
/// until it is 0 at t = log((x0 - target + lambda) / (lambda - target)), and 0 from then on.
inline Toy lasso(double start, double target, double lambda) {
  Toy toy = one(start, [target](double x, double) { return target - x; });
  toy.proximal = [lambda](std::span<double> x, double dt) {
    for (double& entry : x)
      entry = std::copysign(std::max(std::abs(entry) - lambda * dt, 0.0), entry);
  };
  return toy;
}

/// Returns the quadratic loss (x - n)^2 / 2 with n normal of variance sigma^2: v = n - x, C =
/// sigma^2. SGD is an autoregression, and its SDE an Ornstein-Uhlenbeck process.
inline Toy noisy_quadratic(double start, double sigma) {
  Toy toy = decay(1, start);
  toy.sample = [sigma](auto x, RandomStream& random, double weight, auto out) {
    out[0] += weight * (sigma * random.normal() - x[0]);
  };
  return toy;
}

/// Returns v = (a + b n) x with n standard normal: C = b^2 x^2. Its SDE is geometric Brownian
/// motion.
inline Toy noisy_growth(double a, double b) {
  Toy toy = growth(a, 1);
  toy.sample = [a, b](auto x, RandomStream& random, double weight, auto out) {
    out[0] += weight * (a + b * random.normal()) * x[0];
  };
  return toy;
}

}  // namespace popflow::test
