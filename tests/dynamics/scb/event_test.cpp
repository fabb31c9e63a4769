#include <cmath>

#include "support/catch.hpp"
#include "support/scb_fixture.hpp"
#include "support/signal_model.hpp"

using namespace popflow;
using namespace popflow::scb;
using namespace popflow::scb::test;

namespace {

/// Times of the events, computed from the signal equations alone.
std::map<std::string, double> expected_times(const SignalConstants& c) {
  constexpr double kStep = 2e-3;
  const SignalModel model(c);
  const auto product_reaches = [](double level) {
    return [level](double V, double A) { return V * A - level; };
  };
  std::map<std::string, double> times;
  times["boosted"] = model.first_time(product_reaches(0.5), 0, kStep);
  times["aligned"] = model.first_time(product_reaches(0.9), 0, kStep);
  times["fast_phase_end"] = model.first_time(
      [&](double V, double A) {
        return (1 - V) * (1 - V) / c.T - c.kappa * (1 - V * A) * (1 - V * A);
      },
      times["boosted"], kStep);
  return times;
}

void check_times(const Flow& flow, const std::map<std::string, double>& expected) {
  for (const auto& [name, time] : expected) {
    INFO(name << " at " << flow.event(name) << ", expected " << time);
    CHECK(std::abs(flow.event(name) / time - 1) < 1e-6);
  }
}

}  // namespace

TEST_CASE("Events are found at their times in all coordinates, by all methods", "[fast][scb]") {
  const auto [T, from, seed] = GENERATE(table<int, From, std::uint64_t>(
      {{40, From::stationary, 1}, {300, From::uniform, 2}, {60, From::transfer, 3}}));
  const Problem problem = uneven_problem(5, T, 3, seed);
  const auto V0 = start_value(problem, from, seed);
  const auto expected = expected_times(SignalConstants(problem, V0));
  REQUIRE(expected.at("boosted") > 1);
  const double end = 1.5 * expected.at("fast_phase_end");
  for (const Coordinates coordinates :
       {Coordinates::full, Coordinates::support, Coordinates::signal}) {
    const auto system = make_scb(problem, {}, coordinates, V0);
    for (const std::string method :
         {"dopri5", "fehlberg78", "bulirsch_stoer", "rosenbrock4", "rk4"}) {
      if (method == "rosenbrock4" && !system->capabilities().jacobian) continue;
      INFO(describe(coordinates) << ", " << method << ", T = " << T);
      FlowDriver::Options options{.method = method};
      if (method == "rk4") options.dt = 0.05;
      Flow flow(*system, options);
      flow.to(end);
      check_times(flow, expected);
    }
  }
}

TEST_CASE("Save times do not move events", "[fast][scb]") {
  const Problem problem = uneven_problem(5, 40, 3, 1);
  const auto V0 = start_value(problem, From::stationary);
  const auto expected = expected_times(SignalConstants(problem, V0));
  const auto system = make_scb(problem, {}, Coordinates::support, V0);
  Flow flow(*system);
  for (int i = 1; i <= 300; ++i) flow.to(1.5 * expected.at("fast_phase_end") * i / 300);
  check_times(flow, expected);
}

TEST_CASE("A start beyond the level does not have its event", "[fast][scb]") {
  const Problem problem = uneven_problem(5, 40, 3, 1);
  Workers workers(1);
  const Scb system(problem, {}, Coordinates::signal, Start{problem.P, false, {0.7}},
                   scb::Training{}, workers);
  Flow flow(system);
  flow.to(100);
  CHECK(std::isnan(flow.event("boosted")));
  CHECK(flow.event("aligned") > 0);
}

TEST_CASE("Two signals of the wrong sign are not boosted", "[fast][scb]") {
  const Problem problem = uneven_problem(5, 40, 3, 1);
  Workers workers(1);
  const Scb system(problem, {}, Coordinates::signal, Start{-problem.P, false, {-0.7}},
                   scb::Training{}, workers);
  const Flow flow(system);
  const auto seen = observe(system, start_of(system));
  CHECK(seen.at("signal_V") < 0);
  CHECK(seen.at("signal_V") * seen.at("signal_A") > 0.5);
  CHECK(std::isnan(flow.event("boosted")));
}
