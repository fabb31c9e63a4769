#include <cmath>
#include <memory>
#include <random>

#include "lanes/lane_rows.hpp"
#include "support/catch.hpp"
#include "support/flow_history.hpp"
#include "support/lane_flows.hpp"

// Function systems of several sizes (linear-attention and deep-linear) in lanes, compared with
// single trajectories.

using namespace popflow;
using namespace popflow::test;

namespace {

using Words = std::vector<std::string>;

struct Variation {
  std::string name;
  Words words;
};
const std::vector<Variation> kVariations = {
    {"linear-attention", {}},
    {"linear-attention", {"--eigenvalues", "2"}},
    {"linear-attention", {"--coordinates", "full", "--start", "random"}},
    {"deep-linear", {"--start", "gaussian"}},
    {"deep-linear", {"--start", "gaussian", "--layers", "1", "--strengths", "2,1"}},
    {"deep-linear", {"--start", "gaussian", "--layers", "4", "--strengths", "3,2,1.5,0"}},
    {"deep-linear", {"--start", "gaussian", "--layers", "5", "--strengths", "2"}},
};

/// Returns `number` problems of one variation with different starts and sizes.
Subjects many(const Variation& variation, std::size_t number) {
  Subjects subjects;
  for (std::size_t i = 0; i < number; ++i) {
    Words words = variation.words;
    words.insert(words.end(), {"--problem-seed", std::to_string(i + 1), "--init-scale",
                               std::to_string(0.1 + 0.05 * static_cast<double>(i % 7))});
    subjects.push_back(std::make_unique<Subject>(variation.name, words));
  }
  return subjects;
}

/// Returns whether both times are absent, or they agree.
bool same_time(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-6 * std::abs(b);
}

}  // namespace

TEST_CASE("function systems have the same formulas in lanes as alone", "[fast][lanes]") {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  for (const Variation& variation : kVariations) {
    const Subjects subjects = many(variation, kLanes);
    const LaneFormulas formulas = subjects[0]->system->capabilities().in_lanes->lane_formulas();
    const Shape& shape = subjects[0]->system->shape();
    const std::size_t items = passage_items(subjects[0]->system->info(), shape);
    LaneRows of(formulas.sizes.parameters), x(formulas.sizes.entries), flow(formulas.sizes.entries),
        events(shape.events.size()), passages(items);
    std::vector<std::vector<double>> states;
    std::vector<double> parameters(formulas.sizes.parameters);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const Capability<InLanes> lanes = subjects[lane]->system->capabilities().in_lanes;
      REQUIRE(lanes->lane_formulas() == formulas);
      lanes->lane_parameters(parameters);
      of.write(lane, parameters);
      std::vector<double>& state = states.emplace_back(formulas.sizes.entries);
      for (double& entry : state) entry = normal(random);
      x.write(lane, state);
    }
    formulas.flow(formulas.sizes, of.data(), x.data(), flow.data());
    formulas.events(formulas.sizes, of.data(), x.data(), events.data());
    REQUIRE((formulas.passages != nullptr) == (items > 0));
    if (items > 0) formulas.passages(formulas.sizes, of.data(), x.data(), passages.data());
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      INFO(variation.name << " of " << formulas.sizes.entries << ", lane " << lane);
      const System& system = *subjects[lane]->system;
      std::vector<double> expected(formulas.sizes.entries);
      system.rhs({states[lane], {}}, 0, expected);
      double largest = 0;
      for (const double entry : expected) largest = std::max(largest, std::abs(entry));
      for (std::size_t i = 0; i < expected.size(); ++i)
        CHECK(std::abs(flow.at(i, lane) - expected[i]) < 1e-13 * largest);
      const Capability<Events> watched = system.capabilities().events;
      std::vector<double> values(shape.events.size());
      watched->event_functions({states[lane], {}}, 0, values);
      for (std::size_t i = 0; i < values.size(); ++i)
        CHECK(events.at(i, lane) == Approx(values[i]).epsilon(1e-12));
      values.resize(items);
      watched->passage_functions({states[lane], {}}, 0, values);
      for (std::size_t i = 0; i < items; ++i) {
        CHECK(std::isnan(passages.at(i, lane)) == std::isnan(values[i]));
        if (!std::isnan(values[i]))
          CHECK(passages.at(i, lane) == Approx(values[i]).epsilon(1e-12).margin(1e-12));
      }
    }
  }
}

TEST_CASE("flows of several sizes in lanes agree with odeint's", "[fast][flow][lanes]") {
  Subjects all;
  for (std::size_t i = 0; i < 6; ++i)  // sizes alternate
    for (const Variation& variation : kVariations)
      all.push_back(std::move(many(variation, i + 1).back()));
  const FlowDriver::Options options{.rtol = 1e-10, .atol = 1e-12};
  FlowLanes lanes(flows_of(all, options), {});
  const std::vector<double> targets(all.size(), 12);
  lanes.advance(targets);
  const auto drivers = lanes.drivers();
  std::size_t passed = 0, happened = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    INFO("flow " << i);
    FlowDriver alone(*all[i]->system, all[i]->workers, options);
    CHECK(alone.advance(12).kind == Outcome::Kind::reached);
    CHECK(drivers[i]->advance(12).kind == Outcome::Kind::reached);
    REQUIRE(drivers[i]->state().size() == alone.state().size());
    for (std::size_t j = 0; j < alone.state().size(); ++j)
      CHECK(drivers[i]->state()[j] == Approx(alone.state()[j]).epsilon(1e-7).margin(1e-8));
    REQUIRE(drivers[i]->events().size() == alone.events().size());
    for (std::size_t j = 0; j < alone.events().size(); ++j)
      CHECK(same_time(drivers[i]->events()[j].time, alone.events()[j].time));
    REQUIRE(drivers[i]->passages().size() == alone.passages().size());
    for (std::size_t j = 0; j < alone.passages().size(); ++j) {
      CHECK(same_time(drivers[i]->passages()[j], alone.passages()[j]));
      passed += alone.passages()[j] > 0 ? 1 : 0;
    }
    happened += alone.events().size();
  }
  CHECK(passed > 30);
  CHECK(happened > 10);
}

TEST_CASE("first-passage times in lanes depend on no neighbour, and resume to the same bits",
          "[fast][flow][lanes]") {
  const Subjects subjects = many(kVariations[3], 40);
  FlowLanes together(flows_of(subjects, {}), {});
  for (const double t : {1.5, 12.0}) together.advance(std::vector<double>(subjects.size(), t));
  const auto drivers = together.drivers();
  for (const std::size_t i : {0, 9, 31}) {
    const FlowLanes one({{subjects[i]->system.get(), {}}}, {});
    const auto alone = std::move(one.drivers()[0]);
    for (const double t : {1.5, 12.0}) alone->advance(t);
    CHECK(popflow::test::history_of(*drivers[i]) == popflow::test::history_of(*alone));
    CHECK(numbers(*drivers[i]) == numbers(*alone));

    // Interrupt in the second interval, when some modes have reached their thresholds and others
    // have not.
    int asked = 0;
    const FlowLanes first({{subjects[i]->system.get(), {}}}, [&] { return ++asked > 2; });
    const auto stopped = std::move(first.drivers()[0]);
    CHECK(stopped->advance(1.5).kind == Outcome::Kind::reached);
    CHECK(stopped->advance(12).kind == Outcome::Kind::interrupted);
    const ResumePoint point = stopped->resume_point();
    const FlowLanes second({{subjects[i]->system.get(), {}}}, {});
    const auto resumed = std::move(second.drivers()[0]);
    resumed->restore(*point.x, *point.regime, point.t, point.data);
    resumed->advance(12);
    CHECK(numbers(*resumed) == numbers(*alone));
    CHECK(resumed->passages() == alone->passages());
    CHECK(resumed->passages()[0] > 0);
  }
}

TEST_CASE("states that are too large for lanes are integrated one by one", "[fast][lanes]") {
  for (const auto& [layers, any] : {std::pair{7, true}, {8, false}}) {
    const Subject subject("deep-linear", {"--layers", std::to_string(layers)});
    const Capability<InLanes> lanes = subject.system->capabilities().in_lanes;
    CHECK(static_cast<bool>(lanes) == any);
    CHECK(lanes.why_not().empty() == any);
    CHECK(subject.system->info().flow_in_lanes(subject.config.own) == any);
  }
}
