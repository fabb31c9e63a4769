// Splitting of a non-smooth term: first order, exact zeros.

#include <cmath>

#include "popflow/error.hpp"
#include "popflow/flow_driver.hpp"
#include "support/catch.hpp"
#include "support/toy_systems.hpp"

namespace popflow::test {
namespace {

const double kTarget = 0.2;
const double kLambda = 0.5;

double exact(double t) {
  return std::max(0.0, kTarget - kLambda + (1 - kTarget + kLambda) * std::exp(-t));
}

double reached(const std::string& method, double dt, double t) {
  const ToySystem system(lasso(1, kTarget, kLambda));
  Workers workers(1);
  FlowDriver driver(system, workers, {.method = method, .dt = dt});
  CHECK(driver.advance(t).kind == Outcome::Kind::reached);
  CHECK(driver.statistics().accepted == std::lround(t / dt));
  return driver.state()[0];
}

TEST_CASE("splitting converges at first order", "[fast][steppers]") {
  const std::string method =
      GENERATE("dopri5", "fehlberg78", "bulirsch_stoer", "rosenbrock4", "rk4", "euler");
  INFO(method);
  double before = 0;
  for (const double dt : {0.02, 0.01, 0.005}) {
    const double error = std::abs(reached(method, dt, 1) - exact(1));
    CHECK(error < dt);
    if (before > 0) CHECK(before / error == Approx(2).epsilon(0.05));
    before = error;
  }
}

TEST_CASE("splitting gives exact zeros, which stay zero", "[fast][steppers]") {
  const std::string method = GENERATE("dopri5", "bulirsch_stoer", "rk4", "euler");
  INFO(method);
  const double zero_from = std::log((1 - kTarget + kLambda) / (kLambda - kTarget));
  CHECK(reached(method, 0.01, 1.4) > 0);
  CHECK(zero_from == Approx(1.466).margin(1e-3));
  CHECK(reached(method, 0.01, 1.6) == 0);
  CHECK(reached(method, 0.01, 5) == 0);
}

TEST_CASE("splitting needs a step size", "[fast][steppers]") {
  const ToySystem system(lasso(1, 0.2, 0.5));
  Workers workers(1);
  CHECK_THROWS_WITH(FlowDriver(system, workers, {}), Catch::Contains("--dt"));
}

TEST_CASE("adaptive splitting meets its tolerance, and zeros stay zero", "[fast][steppers]") {
  const std::string method =
      GENERATE("dopri5", "fehlberg78", "bulirsch_stoer", "rosenbrock4", "rk4", "euler");
  INFO(method);
  Toy toy = lasso(1, kTarget, kLambda);
  toy.estimates_error = true;
  const ToySystem system(toy);
  Workers workers(1);
  double before = 0;
  std::int64_t steps = 0;
  for (const double rtol : {1e-3, 1e-5, 1e-7}) {
    FlowDriver driver(system, workers, {.method = method, .rtol = rtol, .atol = 0.01 * rtol});
    REQUIRE(driver.advance(1).kind == Outcome::Kind::reached);
    const double error = std::abs(driver.state()[0] - exact(1));
    INFO("rtol " << rtol << ": error " << error);
    CHECK(error < 10 * rtol);
    if (before > 0) {
      CHECK(error < 0.1 * before);
      // The method has order 2: the number of steps grows as tolerance^(-1/2).
      CHECK(static_cast<double>(driver.statistics().accepted) / static_cast<double>(steps) ==
            Approx(10).epsilon(0.3));
    }
    before = error;
    steps = driver.statistics().accepted;
    REQUIRE(driver.advance(1.4).kind == Outcome::Kind::reached);
    CHECK(driver.state()[0] > 0);
    REQUIRE(driver.advance(1.6).kind == Outcome::Kind::reached);
    CHECK(driver.state()[0] == 0);
    REQUIRE(driver.advance(5).kind == Outcome::Kind::reached);
    CHECK(driver.state()[0] == 0);
  }
}

TEST_CASE("adaptive splitting overshoots zero by no more than its tolerance", "[fast][steppers]") {
  // Many entries reach zero one after another. In some steps the two half steps reach zero and the
  // whole step does not.
  Toy toy = lasso(1, kTarget, kLambda);
  toy.estimates_error = true;
  toy.start.clear();
  for (int i = 0; i < 5000; ++i) toy.start.push_back(9e-5 * i);
  toy.rhs = [](auto x, double, auto out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = x[i];
  };
  const ToySystem system(toy);
  Workers workers(1);
  const FlowDriver* running = nullptr;
  double lowest = 1;
  FlowDriver::Options options{.rtol = 1e-4, .atol = 1e-6};
  options.hooks.on_step = [&](double) {
    lowest = std::min(lowest, *std::min_element(running->state().begin(), running->state().end()));
  };
  FlowDriver driver(system, workers, options);
  running = &driver;
  REQUIRE(driver.advance(6).kind == Outcome::Kind::reached);
  CHECK(lowest > -2e-6);
  // All entries start below the penalty and come to rest at zero.
  CHECK(std::count(driver.state().begin(), driver.state().end(), 0.0) == 5000);
}

TEST_CASE("a blow-up between two proximal maps is found", "[fast][steppers]") {
  const std::string method = GENERATE("dopri5", "bulirsch_stoer", "rk4");
  INFO(method);
  Toy toy = square(1);
  toy.proximal = [](auto, double) {};
  const ToySystem system(toy);
  Workers workers(1);
  FlowDriver driver(system, workers, {.method = method, .dt = 0.01});
  const Outcome outcome = driver.advance(2);
  CHECK(outcome.kind == Outcome::Kind::diverged);
  CHECK(std::isfinite(driver.state()[0]));
  if (method != "rk4") CHECK(outcome.diverged_at == Approx(1).margin(0.011));
}

}  // namespace
}  // namespace popflow::test
