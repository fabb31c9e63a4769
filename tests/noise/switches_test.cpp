// Regimes of runs with discrete steps.

#include "popflow/sde_driver.hpp"
#include "popflow/sgd_driver.hpp"
#include "support/catch.hpp"
#include "support/toy_systems.hpp"

namespace popflow::test {
namespace {

/// x' = 1 until x = 0.35, then x' = -1 until t = 1, then x' = 0.
Toy turning() {
  Toy toy;
  toy.start = {0};
  toy.regime = {0};
  toy.rhs = [](auto x, double, auto out) {
    out[0] = x.regime[0] == 0 ? 1 : x.regime[0] == 1 ? -1 : 0;
  };
  toy.sample = [](auto x, RandomStream&, double weight, auto out) {
    out[0] += weight * (x.regime[0] == 0 ? 1 : x.regime[0] == 1 ? -1 : 0);
  };
  toy.switches = 2;
  toy.switch_functions = [](auto x, double t, auto values) {
    values[0] = x.regime[0] == 0 ? 0.35 - x[0] : 1;
    values[1] = x.regime[0] == 1 ? 1 - t : 1;
  };
  toy.switch_regime = [](auto, auto regime, double) { regime[0] += 1; };
  toy.events = {{"turned", ""}};
  toy.event_functions = [](auto x, double, auto g) { g[0] = x.regime[0] - 0.5; };
  return toy;
}

void check_turns(Driver& driver) {
  // With steps of 1/16 the first step that ends beyond 0.35 ends at 0.375; 10 steps go back until t
  // = 1.
  REQUIRE(driver.advance(2).kind == Outcome::Kind::reached);
  CHECK(driver.regime()[0] == 2);
  CHECK(driver.state()[0] == 0.375 - 0.625);
  REQUIRE(driver.events().size() == 1);
  CHECK(driver.events()[0].time == 0.375);
}

TEST_CASE("a noisy run switches its regime after the first step that leaves it", "[fast][noise]") {
  const ToySystem system(turning());
  Workers workers(1);
  SgdDriver sgd(system, workers, {.learning_rate = 1.0 / 16, .batch_size = 2});
  check_turns(sgd);
  SdeDriver sde(system, workers, {.learning_rate = 1.0 / 16, .dt = 1.0 / 16, .noise_samples = 2});
  check_turns(sde);
}

TEST_CASE("a regime that ends at the start is left there", "[fast][noise]") {
  Toy toy = turning();
  toy.start = {0.35};
  const ToySystem system(toy);
  Workers workers(1);
  SgdDriver sgd(system, workers, {.learning_rate = 1.0 / 16, .batch_size = 1});
  CHECK(sgd.regime()[0] == 1);
  CHECK(sgd.events().empty());  // the function of the event has not been negative
}

}  // namespace
}  // namespace popflow::test
