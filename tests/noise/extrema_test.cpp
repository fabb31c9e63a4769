// Extrema as events of noisy runs.

#include <cmath>

#include "popflow/sde_driver.hpp"
#include "popflow/sgd_driver.hpp"
#include "support/catch.hpp"
#include "support/toy_systems.hpp"

namespace popflow::test {
namespace {

TEST_CASE("a minimum of a noisy run is its lowest step, reported once it is prominent enough",
          "[fast][noise]") {
  const auto height = [](double t) { return (t - 5) * (t - 5) / 25 + 0.0004 * std::sin(40 * t); };
  Toy toy;
  toy.start = {0};
  toy.rhs = [](auto, double, auto out) { out[0] = 1; };
  toy.sample = [](auto, RandomStream&, double weight, auto out) { out[0] += weight; };
  toy.events = {{.name = "low", .meaning = "", .prominence = 0.01}};
  toy.event_height = [&](auto, double t) { return height(t); };
  const ToySystem system(toy);
  Workers workers(1);
  constexpr double kStep = 1.0 / 64;
  double lowest = 0;
  for (double t = 0; t < 10; t += kStep)
    if (height(t) < height(lowest)) lowest = t;
  const auto check = [&](Driver& driver) {
    REQUIRE(driver.advance(5.25).kind == Outcome::Kind::reached);
    CHECK(driver.events().empty());
    REQUIRE(driver.advance(8).kind == Outcome::Kind::reached);
    REQUIRE(driver.events().size() == 1);
    CHECK(driver.events()[0].time == Approx(lowest).margin(1e-9));
  };
  SgdDriver sgd(system, workers, {.learning_rate = kStep, .batch_size = 2});
  check(sgd);
  SdeDriver sde(system, workers, {.learning_rate = kStep, .dt = kStep, .noise_samples = 2});
  check(sde);
}

}  // namespace
}  // namespace popflow::test
