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

TEST_CASE("functions of events and passages must be negative before they cross zero upwards",
          "[fast][noise]") {
  const Toy::Function functions = [](auto, double t, auto g) {
    g[0] = t;                           // 0 at the start, then positive
    g[1] = t * (t - 0.5) - 1e-12 * t;   // 0 at the start, then negative
    g[2] = std::abs(t - 0.5) - 0.2501;  // positive at the start, negative in the middle
    g[3] = t - 0.25;
    g[4] = t - 0.375;
    g[5] = t - 0.625;
  };
  Toy toy;
  toy.start = {0};
  toy.rhs = [](auto, double, auto out) { out[0] = 1; };
  toy.sample = [](auto, RandomStream&, double weight, auto out) { out[0] += weight; };
  toy.events = {
      {"left", ""},          {"zero", ""}, {"again", ""}, {"once", ""}, {"follows", "", "left"},
      {"later", "", "again"}};
  toy.event_functions = functions;
  toy.items = 6;
  toy.passage_functions = functions;
  const ToySystem system(toy);
  Workers workers(1);
  constexpr double kStep = 1.0 / 64;
  const auto check = [&](auto make) {
    // Resumed between the start and the first crossing, and between fall and rise.
    auto driver = make();
    for (const double target : {0.125, 0.3125, 0.46875, 1.0}) {
      REQUIRE(driver->advance(target).kind == Outcome::Kind::reached);
      auto resumed = make();
      const ResumePoint point = driver->resume_point();
      resumed->restore(*point.x, *point.regime, point.t, point.data);
      driver = std::move(resumed);
    }
    const auto& events = driver->events();
    REQUIRE(events.size() == 5);
    CHECK((events[0].event == 3 && events[0].time == 0.25));
    // Events that follow one which lies before the start are watched from the start.
    CHECK((events[1].event == 4 && events[1].time == 0.375));
    CHECK((events[2].event == 1 && events[2].time == 0.515625));
    CHECK((events[3].event == 5 && events[3].time == 0.625));
    CHECK((events[4].event == 2 && events[4].time == 0.765625));
    const std::vector<double>& passages = driver->passages();
    CHECK(std::isnan(passages[0]));
    CHECK(passages[1] == 0.515625);
    CHECK(passages[2] == 0.765625);
    CHECK(passages[3] == 0.25);
  };
  check([&] {
    return std::make_unique<SgdDriver>(system, workers,
                                       SgdDriver::Options{.learning_rate = kStep, .batch_size = 2});
  });
  check([&] {
    return std::make_unique<SdeDriver>(
        system, workers,
        SdeDriver::Options{.learning_rate = kStep, .dt = kStep, .noise_samples = 2});
  });
}

}  // namespace
}  // namespace popflow::test
