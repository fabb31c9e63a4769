// Every method converges at its order.

#include <cmath>
#include <functional>
#include <memory>

#include "popflow/error.hpp"
#include "popflow/flow_driver.hpp"
#include "steppers/flow_methods.hpp"
#include "steppers/stepper.hpp"
#include "support/catch.hpp"
#include "support/toy_systems.hpp"

namespace popflow::test {
namespace {

constexpr double kEnd = 2;

/// Returns the slope of the least-squares line through (log x, log y).
double log_slope(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double u = std::log(x[i]);
    const double v = std::log(y[i]);
    sx += u;
    sy += v;
    sxx += u * u;
    sxy += u * v;
  }
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

using Exact = std::function<double(double t)>;

/// Returns the largest error along `steps` equal steps, whether the method would accept them or
/// not.
double error_of(const std::string& method, const System& system, const Exact& exact, int steps) {
  Workers workers(1);
  const Regime regime;
  Rhs rhs(system, regime);
  const Tolerance tolerance(system.shape().blocks, 1e-8, 1e-10);
  const auto stepper = flow_method(method).make(rhs, tolerance, workers);
  State x(system.shape().state_size());
  State x_new(x.size());
  system.start(x);
  const double h = kEnd / steps;
  double worst = 0;
  for (int i = 0; i < steps; ++i) {
    stepper->attempt(x, i * h, h, x_new);
    stepper->accept();
    x.swap(x_new);
    worst = std::max(worst, std::abs(x[0] - exact((i + 1) * h)));
  }
  return worst;
}

struct Case {
  std::string method;
  double order;
  int fewest_steps;
  int most_steps;  ///< rounding shows with more steps
  /// Tolerance of the slope. verner8 has coefficients up to 123, so rounding makes up a quarter of
  /// its error with eight steps; verner8_test.cpp checks its order conditions.
  double margin = 0.4;
};

TEST_CASE("methods converge at their order", "[fast][steppers]") {
  const auto [method, order, fewest, most, margin] = GENERATE(
      Case{"euler", 1, 64, 256}, Case{"rk4", 4, 16, 64}, Case{"dopri5", 5, 16, 64},
      Case{"fehlberg78", 8, 3, 12}, Case{"verner8", 8, 4, 8, 0.7}, Case{"rosenbrock4", 4, 32, 128});
  INFO(method);
  CHECK(flow_method(method).order == order);
  const ToySystem circle(oscillator());
  const ToySystem forced(driven());
  const std::vector<std::pair<const System*, Exact>> cases = {
      {&circle, [](double t) { return std::cos(t); }},
      {&forced, [](double t) { return std::exp(std::sin(t)); }}};
  for (const auto& [system, exact] : cases) {
    std::vector<double> lengths, errors;
    for (int steps = fewest; steps <= most; steps *= 2) {
      lengths.push_back(kEnd / steps);
      errors.push_back(error_of(method, *system, exact, steps));
    }
    CHECK(log_slope(lengths, errors) == Approx(order).margin(margin));
  }
}

TEST_CASE("adaptive methods reach the requested tolerance", "[fast][steppers]") {
  const std::string method =
      GENERATE("dopri5", "fehlberg78", "verner8", "bulirsch_stoer", "rosenbrock4");
  INFO(method);
  const ToySystem system(driven());
  Workers workers(1);
  double before = 1;
  for (const double rtol : {1e-4, 1e-6, 1e-8, 1e-10}) {
    FlowDriver driver(system, workers, {.method = method, .rtol = rtol, .atol = 0.01 * rtol});
    REQUIRE(driver.advance(10).kind == Outcome::Kind::reached);
    const double error = std::abs(driver.state()[0] / std::exp(std::sin(10)) - 1);
    INFO("rtol " << rtol << ", error " << error);
    CHECK(error < 100 * rtol);
    CHECK(error < before);
    before = error;
  }
}

TEST_CASE("a higher order needs fewer evaluations", "[fast][steppers]") {
  const ToySystem system(oscillator());
  Workers workers(1);
  const auto evaluations = [&](const std::string& method, double rtol) {
    FlowDriver driver(system, workers, {.method = method, .rtol = rtol, .atol = rtol});
    driver.advance(20);
    return static_cast<double>(driver.statistics().evaluations);
  };
  // Steps grow as rtol^(-1/p) with the order p of the error estimate.
  CHECK(std::log10(evaluations("dopri5", 1e-12) / evaluations("dopri5", 1e-7)) ==
        Approx(1).margin(0.1));
  CHECK(std::log10(evaluations("fehlberg78", 1e-12) / evaluations("fehlberg78", 1e-4)) ==
        Approx(1).margin(0.1));
  CHECK(std::log10(evaluations("rosenbrock4", 1e-9) / evaluations("rosenbrock4", 1e-5)) ==
        Approx(1).margin(0.1));
  CHECK(evaluations("fehlberg78", 1e-12) < evaluations("dopri5", 1e-12) / 3);
  CHECK(evaluations("bulirsch_stoer", 1e-12) < evaluations("dopri5", 1e-12) / 3);
}

TEST_CASE("the implicit method takes long steps on a stiff system", "[fast][steppers]") {
  const ToySystem system(stiff_pair(1e4));
  Workers workers(1);
  FlowDriver implicit(system, workers, {.method = "rosenbrock4"});
  FlowDriver explicitly(system, workers, {.method = "dopri5"});
  for (FlowDriver* driver : {&implicit, &explicitly}) {
    CHECK(driver->advance(3).kind == Outcome::Kind::reached);
    CHECK(driver->state()[0] == Approx(std::exp(-3)).epsilon(1e-6));
    CHECK(driver->state()[1] == Approx(std::exp(-3) * 1e4 / 9999).epsilon(1e-6));
  }
  CHECK(implicit.statistics().accepted < explicitly.statistics().accepted / 10);
}

TEST_CASE("a method without its requirements is refused", "[fast][steppers]") {
  Toy toy = decay();
  toy.jacobian = {};
  const ToySystem system(toy);
  Workers workers(1);
  CHECK_THROWS_AS(FlowDriver(system, workers, {.method = "rosenbrock4"}), UsageError);
  CHECK_THROWS_AS(FlowDriver(system, workers, {.method = "rk4"}), UsageError);
  CHECK_THROWS_AS(FlowDriver(system, workers, {.method = "euler"}), UsageError);
}

}  // namespace
}  // namespace popflow::test
