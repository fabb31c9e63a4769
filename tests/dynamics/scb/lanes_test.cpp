#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "flow/flow_lanes.hpp"
#include "lanes/lane_rows.hpp"
#include "support/catch.hpp"
#include "support/flow_history.hpp"
#include "support/scb_fixture.hpp"

// Signal coordinates in lanes, compared with single trajectories.

using namespace popflow;
using namespace popflow::scb;
using namespace popflow::scb::test;

namespace {

/// Returns more problems than there are lanes, with all lengths and starts.
std::vector<std::unique_ptr<Scb>> many() {
  std::vector<std::unique_ptr<Scb>> systems;
  for (const std::int64_t T : {12, 50, 1000, 1'000'000, 1'000'000'000})
    for (const From from : all_starts) {
      const std::uint64_t seed = 1 + systems.size();
      const Problem problem = uneven_problem(6, T, 3, seed);
      systems.push_back(
          make_scb(problem, {}, Coordinates::signal, start_value(problem, from, seed)));
    }
  return systems;
}

std::vector<FlowLanes::Flow> flows_of(const std::vector<std::unique_ptr<Scb>>& systems,
                                      const FlowDriver::Options& options) {
  std::vector<FlowLanes::Flow> flows;
  for (const auto& system : systems) flows.push_back({system.get(), options});
  return flows;
}

}  // namespace

TEST_CASE("scb: lanes and single trajectories have the same flow and events",
          "[fast][scb][lanes]") {
  const auto systems = many();
  const LaneFormulas& formulas = systems[0]->lane_formulas();
  LaneRows of(formulas.sizes.parameters), x(3), flow(3), events(3);
  std::vector<Eigen::VectorXd> states;
  std::vector<double> parameters(formulas.sizes.parameters);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    states.push_back(random_state(*systems[lane], 0.7, lane));
    systems[lane]->lane_parameters(parameters);
    of.write(lane, parameters);
    x.write(lane, view(states[lane]));
  }
  formulas.flow(formulas.sizes, of.data(), x.data(), flow.data());
  formulas.events(formulas.sizes, of.data(), x.data(), events.data());
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    INFO("lane " << lane);
    const Eigen::VectorXd expected = rhs(*systems[lane], states[lane], 0.4);
    std::vector<double> functions(3);
    systems[lane]->event_functions({view(states[lane]), {}}, 0.4, functions);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(flow.at(i, lane) == expected[static_cast<Eigen::Index>(i)]);
      CHECK(events.at(i, lane) == functions[i]);
    }
  }
}

TEST_CASE("scb: flows in lanes find the states and the events of odeint's", "[fast][scb][lanes]") {
  const auto systems = many();
  const FlowDriver::Options options{.rtol = 1e-9, .atol = 1e-11};
  REQUIRE(has_flow_lanes(*systems[0], options.method, false));
  FlowLanes lanes(flows_of(systems, options), {});
  std::vector<double> targets;
  for (const auto& system : systems) targets.push_back(std::min(system->default_end(), 2000.0));
  lanes.advance(targets);
  const auto drivers = lanes.drivers();
  Workers one(1);
  std::size_t waited = 0;
  for (std::size_t i = 0; i < systems.size(); ++i) {
    INFO("flow " << i);
    FlowDriver alone(*systems[i], one, options);
    CHECK(alone.advance(targets[i]).kind == Outcome::Kind::reached);
    CHECK(drivers[i]->advance(targets[i]).kind == Outcome::Kind::reached);
    for (std::size_t j = 0; j < 3; ++j)
      CHECK(drivers[i]->state()[j] == Approx(alone.state()[j]).epsilon(1e-6).margin(1e-8));
    REQUIRE(drivers[i]->events().size() == alone.events().size());
    for (std::size_t j = 0; j < alone.events().size(); ++j) {
      CHECK(drivers[i]->events()[j].event == alone.events()[j].event);
      CHECK(drivers[i]->events()[j].time == Approx(alone.events()[j].time).epsilon(1e-6));
      waited += alone.events()[j].event == 2 ? 1 : 0;
    }
  }
  CHECK(waited > kLanes / 2);
}

TEST_CASE("scb: a flow has the same bits alone and in lanes with others", "[fast][scb][lanes]") {
  const auto systems = many();
  FlowLanes lanes(flows_of(systems, {}), {});
  lanes.advance(std::vector<double>(systems.size(), 40));
  const auto drivers = lanes.drivers();
  for (const std::size_t i : {0, 7, 19}) {
    const FlowLanes one({{systems[i].get(), {}}}, {});
    const auto alone = std::move(one.drivers()[0]);
    alone->advance(40);
    for (std::size_t j = 0; j < 3; ++j) CHECK(alone->state()[j] == drivers[i]->state()[j]);
    CHECK(popflow::test::history_of(*alone) == popflow::test::history_of(*drivers[i]));
  }
}

TEST_CASE("scb: only signal coordinates have lanes", "[fast][scb][lanes]") {
  const Problem problem = uneven_problem(6, 12, 3, 1);
  const Eigen::MatrixXd V0 = start_value(problem, From::stationary);
  for (const Coordinates of : {Coordinates::full, Coordinates::support})
    CHECK_FALSE(make_scb(problem, {}, of, V0)->capabilities().in_lanes);
}
