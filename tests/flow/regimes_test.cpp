// Right-hand sides that jump are integrated regime by regime.

#include <cmath>

#include "popflow/flow_driver.hpp"
#include "support/catch.hpp"
#include "support/toy_systems.hpp"

namespace popflow::test {
namespace {

constexpr double kFree = 0, kSliding = 1, kReleased = 2;

double in(StateView x) { return x.regime[0]; }

/// Returns x' = 1 below the surface x = 1. From there x rests on the surface until t = 2, since the
/// flow beyond it points back. After that x' = x.
Toy held() {
  Toy toy;
  toy.start = {0};
  toy.regime = {kFree};
  toy.rhs = [](auto x, double, auto out) {
    out[0] = in(x) == kFree ? 1 : in(x) == kSliding ? 0 : x[0];
  };
  toy.switches = 1;
  toy.switch_functions = [](auto x, double t, auto values) {
    values[0] = in(x) == kFree ? 1 - x[0] : in(x) == kSliding ? 2 - t : 1;
  };
  toy.switch_regime = [](auto x, auto regime, double) {
    if (regime[0] == kFree) x[0] = 1;
    regime[0] += 1;
  };
  return toy;
}

TEST_CASE("regimes change at their surface, and no step crosses it", "[fast][flow]") {
  const std::string method = GENERATE("dopri5", "fehlberg78", "bulirsch_stoer", "rk4");
  INFO(method);
  const ToySystem system(held());
  Workers workers(1);
  FlowDriver::Options options{.method = method};
  if (method == "rk4") options.dt = 0.03;
  FlowDriver driver(system, workers, options);
  for (const double target : {0.5, 1.5, 1.75, 2.25, 3.0})
    REQUIRE(driver.advance(target).kind == Outcome::Kind::reached);
  CHECK(driver.state()[0] == Approx(std::exp(1.0)).epsilon(1e-7));
  CHECK(driver.regime()[0] == kReleased);
  CHECK(driver.statistics().accepted < (method == "rk4" ? 115 : 100));
}

TEST_CASE("an event shortly before a surface is found", "[fast][flow]") {
  Toy toy = held();
  toy.events = {{"near", ""}, {"beyond", ""}};
  toy.event_functions = [](auto x, double, auto g) {
    g[0] = x[0] - 0.999;
    g[1] = x[0] - 1.001;
  };
  const ToySystem system(toy);
  Workers workers(1);
  FlowDriver driver(system, workers, {.method = "fehlberg78"});
  driver.advance(3);
  REQUIRE(driver.events().size() == 2);
  CHECK(driver.events()[0].time == Approx(0.999).epsilon(1e-9));
  CHECK(driver.events()[1].time == Approx(2 + std::log(1.001)).epsilon(1e-9));
}

TEST_CASE("a regime that cannot be left ends at the step limit", "[fast][flow]") {
  Toy toy = held();
  toy.switch_regime = [](auto, auto, double) {};
  const ToySystem system(toy);
  Workers workers(1);
  FlowDriver driver(system, workers, {.max_steps = 1000});
  CHECK(driver.advance(3).kind == Outcome::Kind::step_limit);
}

TEST_CASE("a regime that ends just before a target ends at the target itself", "[fast][flow]") {
  Toy toy = held();
  toy.switch_functions = [](auto x, double t, auto values) {
    values[0] = in(x) == kFree ? 0.5 * (1 - 1e-12) - t : 1;
  };
  toy.switch_regime = [](auto, auto regime, double) { regime[0] += 1; };
  const ToySystem system(toy);
  Workers workers(1);
  FlowDriver driver(system, workers, {});
  REQUIRE(driver.advance(0.5).kind == Outcome::Kind::reached);
  CHECK(driver.regime()[0] == kSliding);
  CHECK(driver.interval().smallest > 1e-6);
}

}  // namespace
}  // namespace popflow::test
