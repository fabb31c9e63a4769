#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "lanes/lane_rows.hpp"
#include "popflow/parameter.hpp"
#include "support/catch.hpp"
#include "support/flow_history.hpp"
#include "support/lane_flows.hpp"
#include "support/slopes.hpp"

// Compares joma in reduced coordinates in lanes with single trajectories.

using namespace popflow;
using namespace popflow::test;

namespace {

using Words = std::vector<std::string>;

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

const Words kTargets = {"--activation", "nonlinear"};
const std::vector<Words> kForms = {{"--offset", "0.3"},
                                   {"--attention", "softmax"},
                                   {"--attention", "linear"},
                                   {"--attention", "linear", "--offset", "0.5", "--nodes", "3"},
                                   kTargets,
                                   kTargets + Words{"--nodes", "3", "--offset", "-0.4"},
                                   kTargets + Words{"--target-max", "20"},  // rates are held here
                                   kTargets + Words{"--attention", "softmax", "--nodes", "2"},
                                   kTargets + Words{"--attention", "linear", "--offset", "0.2"}};

/// Returns problems of one form with different targets, temperatures and starts.
Subjects many(const Words& form, std::size_t number) {
  Subjects subjects;
  for (std::size_t i = 0; i < number; ++i) {
    const auto x = static_cast<double>(i);
    subjects.push_back(std::make_unique<Subject>(
        "joma", form + Words{"--problem-seed", std::to_string(i + 1), "--target-min",
                             std::to_string(i % 3 == 1 ? -2 : 1), "--temperature",
                             std::to_string(1 + 0.07 * static_cast<double>(i % 11)), "--init",
                             std::to_string(0.02 + 0.01 * x)}));
  }
  return subjects;
}

/// End times a little before the default ends: another test covers blow-ups.
std::vector<double> ends_of(const Subjects& subjects) {
  std::vector<double> ends;
  for (const auto& subject : subjects)
    ends.push_back(std::min(subject->system->default_end(), 300.0));
  return ends;
}

/// Returns all first-passage times, and the numbers and times of all events, as text.
std::string found(const Driver& driver) {
  std::vector<double> numbers = driver.passages();
  for (const FoundEvent& event : driver.events())
    numbers.insert(numbers.end(), {static_cast<double>(event.event), event.time});
  std::string text;
  for (const double number : numbers) text += shortest(number) + " ";
  return text;
}

/// Checks that a value found in lanes is nearly as accurate as the one found alone. `exact` has
/// much narrower tolerances.
void check_as_near(double found, double alone, double exact, double scale) {
  CHECK(std::isnan(found) == std::isnan(exact));
  CHECK(std::isnan(alone) == std::isnan(exact));
  if (!std::isnan(exact))
    CHECK(std::abs(found - exact) <= 3 * std::abs(alone - exact) + 1e-6 * scale);
}

}  // namespace

TEST_CASE("joma: lanes and single trajectories have the same formulas", "[fast][joma][lanes]") {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform;
  for (const Words& form : kForms) {
    const Subjects subjects = many(form, kLanes);
    const LaneFormulas formulas = subjects[0]->system->capabilities().in_lanes->lane_formulas();
    const std::size_t items =
        passage_items(subjects[0]->system->info(), subjects[0]->system->shape());
    const std::size_t tokens = formulas.sizes.entries;
    LaneRows of(formulas.sizes.parameters), x(tokens), flow(tokens), events(4), passages(items);
    std::vector<std::vector<double>> states;
    std::vector<double> parameters(formulas.sizes.parameters);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const Capability<InLanes> lanes = subjects[lane]->system->capabilities().in_lanes;
      REQUIRE(lanes->lane_formulas() == formulas);
      lanes->lane_parameters(parameters);
      of.write(lane, parameters);
      std::vector<double>& state = states.emplace_back(tokens);
      for (double& entry : state) entry = (items > 0 ? 4 : 0.4) * uniform(random);
      if (lane == 3) std::fill(state.begin(), state.end(), 0.0);  // attention is uniform
      if (lane == 5) state[7] = items > 0 ? 40 : 6;
      x.write(lane, state);
    }
    formulas.flow(formulas.sizes, of.data(), x.data(), flow.data());
    formulas.events(formulas.sizes, of.data(), x.data(), events.data());
    REQUIRE((formulas.passages != nullptr) == (items > 0));
    if (items > 0) formulas.passages(formulas.sizes, of.data(), x.data(), passages.data());
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      INFO(subjects[lane]->config.own.text("attention")
           << ", " << items << " passages, lane " << lane);
      const System& system = *subjects[lane]->system;
      std::vector<double> expected(tokens);
      system.rhs({states[lane], {}}, 0, expected);
      // A softmax sums in another order in lanes; everything else has the same bits.
      const bool softmax = subjects[lane]->config.own.text("attention") == "softmax";
      for (std::size_t i = 0; i < tokens; ++i)
        CHECK(std::abs(flow.at(i, lane) - expected[i]) <= (softmax ? 1e-14 * expected[i] : 0));
      const Capability<Events> watched = system.capabilities().events;
      std::vector<double> values(2);
      watched->event_functions({states[lane], {}}, 0, values);
      // Event functions -s - n and s - 2 n contain the rounding n of their slope s.
      const double rounding = std::max(-(values[0] + values[1]) / 3, 0.0);
      for (std::size_t i = 0; i < 2; ++i) {
        CHECK(std::abs(events.at(i, lane) - values[i]) <= 1e-13 * std::abs(values[i]) + rounding);
        CHECK(events.at(2 + i, lane) ==
              Approx(watched->event_height(i, {states[lane], {}}, 0)).margin(1e-14));
      }
      values.resize(items);
      watched->passage_functions({states[lane], {}}, 0, values);
      for (std::size_t i = 0; i < items; ++i) CHECK(passages.at(i, lane) == values[i]);
    }
  }
}

namespace {

std::vector<std::pair<std::string, Words>> methods_and_forms() {
  std::vector<std::pair<std::string, Words>> all;
  for (const Words& form : kForms) all.emplace_back("dopri5", form);
  all.emplace_back("verner8", kTargets);
  return all;
}

}  // namespace

TEST_CASE("joma: flows in lanes agree with odeint's", "[fast][joma][flow][lanes]") {
  std::size_t passed = 0, minima = 0, falls = 0;
  for (const auto& [method, form] : methods_and_forms()) {
    const Subjects subjects = many(form, 24);
    const std::vector<double> ends = ends_of(subjects);
    const FlowDriver::Options options{.method = method, .rtol = 1e-6, .atol = 1e-8};
    REQUIRE(has_flow_lanes(*subjects[0]->system, options.method, false));
    FlowLanes lanes(flows_of(subjects, options), {});
    lanes.advance(ends);
    const auto drivers = lanes.drivers();
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      INFO(subjects[i]->config.own.text("attention") << " " << passed << ", flow " << i);
      const System& system = *subjects[i]->system;
      FlowDriver alone(system, subjects[i]->workers, options);
      FlowDriver exact(system, subjects[i]->workers, {.rtol = 1e-9, .atol = 1e-11});
      REQUIRE(exact.advance(ends[i]).kind == Outcome::Kind::reached);
      CHECK(alone.advance(ends[i]).kind == Outcome::Kind::reached);
      CHECK(drivers[i]->advance(ends[i]).kind == Outcome::Kind::reached);
      CHECK(std::abs(drivers[i]->statistics().accepted - alone.statistics().accepted) <= 2);
      for (std::size_t j = 0; j < exact.state().size(); ++j)
        check_as_near(drivers[i]->state()[j], alone.state()[j], exact.state()[j],
                      1 + std::abs(exact.state()[j]));
      REQUIRE(alone.events().size() == exact.events().size());
      REQUIRE(drivers[i]->events().size() == exact.events().size());
      for (std::size_t j = 0; j < exact.events().size(); ++j) {
        CHECK(drivers[i]->events()[j].event == exact.events()[j].event);
        check_as_near(drivers[i]->events()[j].time, alone.events()[j].time, exact.events()[j].time,
                      exact.events()[j].time);
        ++(exact.events()[j].event == 0 ? falls : minima);
      }
      REQUIRE(drivers[i]->passages().size() == exact.passages().size());
      for (std::size_t j = 0; j < exact.passages().size(); ++j) {
        check_as_near(drivers[i]->passages()[j], alone.passages()[j], exact.passages()[j],
                      exact.passages()[j]);
        passed += exact.passages()[j] > 0 ? 1 : 0;
      }
    }
  }
  CHECK(passed > 500);
  CHECK(falls > 150);
  CHECK(minima > 50);
}

TEST_CASE("joma: lanes report the same extrema of the entropy as single flows",
          "[fast][joma][flow][lanes]") {
  // A larger offset makes attention more even: its entropy varies by less than 0.001 in the end.
  Subjects subjects;
  for (int i = 0; i < 60; ++i)
    subjects.push_back(std::make_unique<Subject>(
        "joma", kTargets + Words{"--attention", "linear", "--offset",
                                 std::to_string(0.1 * std::pow(1.12, i)), "--problem-seed",
                                 std::to_string(1 + i % 7)}));
  const std::vector<double> ends = ends_of(subjects);
  FlowLanes lanes(flows_of(subjects), {});
  lanes.advance(ends);
  const auto drivers = lanes.drivers();
  std::size_t with[3] = {};
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    INFO("flow " << i);
    FlowDriver alone(*subjects[i]->system, subjects[i]->workers, {});
    alone.advance(ends[i]);
    const std::vector<FoundEvent>& events = drivers[i]->events();
    REQUIRE(events.size() == alone.events().size());
    for (std::size_t j = 0; j < events.size(); ++j) {
      CHECK(events[j].event == alone.events()[j].event);
      CHECK(events[j].time == Approx(alone.events()[j].time).epsilon(1e-6));
    }
    ++with[events.size()];
  }
  for (const std::size_t number : with) CHECK(number > 5);
}

TEST_CASE("joma: an extremum in lanes and its time converge with the tolerance",
          "[fast][joma][flow][lanes]") {
  for (const char* attention : {"exp", "softmax"}) {
    Subject subject("joma", kTargets + Words{"--attention", attention, "--temperature", "2"});
    const double end = subject.system->default_end();
    const FlowOf exact(subject, end, 1e-13, 1e-15);
    REQUIRE(exact.driver.events().size() == 2);
    std::vector<double> tolerances, states, times, passages;
    for (const double rtol : {1e-4, 1e-5, 1e-6, 1e-7, 1e-8}) {
      const FlowLanes one({{subject.system.get(), {.rtol = rtol, .atol = rtol / 100}}}, {});
      const auto driver = std::move(one.drivers()[0]);
      driver->advance(end);
      REQUIRE(driver->events().size() == 2);
      tolerances.push_back(rtol);
      states.push_back((Subject::vector(driver->state()) - exact.x).cwiseAbs().maxCoeff());
      times.push_back(std::abs(driver->events()[1].time - exact.driver.events()[1].time));
      double worst = 0;
      for (std::size_t i = 0; i < driver->passages().size(); ++i)
        worst = std::max(worst, std::abs(driver->passages()[i] - exact.driver.passages()[i]));
      passages.push_back(worst);
    }
    for (const auto* errors : {&states, &times, &passages}) {
      const double order = log_log_slope(tolerances, *errors);
      INFO(attention << ": " << errors->front() << " ... " << errors->back());
      CHECK(order > 0.7);
      CHECK(order < 1.4);
    }
  }
}

TEST_CASE("joma: a blow-up in lanes is found at its time, and stops no neighbour",
          "[fast][joma][flow][lanes]") {
  constexpr double kEnd = 0.5;
  Subjects subjects = many({}, 20);
  for (std::unique_ptr<Subject>& subject : many({"--attention", "softmax"}, 3))
    subjects.push_back(std::move(subject));
  FlowLanes lanes(flows_of(subjects), {});
  lanes.advance(std::vector<double>(subjects.size(), kEnd));
  const auto drivers = lanes.drivers();
  std::size_t diverged = 0;
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    INFO("flow " << i);
    const Outcome outcome = drivers[i]->advance(kEnd);
    FlowDriver alone(*subjects[i]->system, subjects[i]->workers, {});
    const Outcome expected = alone.advance(kEnd);
    CHECK(outcome.kind == expected.kind);
    CHECK(drivers[i]->events().size() == alone.events().size());
    const double blow_up = subjects[i]->constant("blow_up_time");
    CHECK((outcome.kind == Outcome::Kind::diverged) == (blow_up < kEnd));
    if (!(blow_up < kEnd)) continue;
    CHECK(outcome.diverged_at == Approx(blow_up).epsilon(1e-7));
    CHECK(outcome.message.substr(0, 40) == expected.message.substr(0, 40));
    ++diverged;
  }
  CHECK(diverged > 5);
  CHECK(diverged < 18);
}

TEST_CASE("joma: a flow has the same bits alone, in lanes with others, and after resuming",
          "[fast][joma][flow][lanes]") {
  // Neighbours of all forms, some of which enter lanes later, and one flow without events.
  Subjects subjects;
  for (const Words& form : {kForms[6], kForms[4], kForms[7], kForms[8]})
    for (std::unique_ptr<Subject>& subject : many(form, 22)) subjects.push_back(std::move(subject));
  subjects.push_back(std::make_unique<Subject>(
      "joma", kTargets + Words{"--attention", "linear", "--offset", "400"}));
  const std::vector<double> ends = ends_of(subjects);
  std::vector<double> halves = ends;
  for (double& end : halves) end /= 64;
  std::vector<FlowLanes::Flow> flows = flows_of(subjects, {.rtol = 1e-10, .atol = 1e-12});
  flows.back().options = {.rtol = 1e-13, .atol = 1e-15};  // this flow also takes many steps
  FlowLanes together(flows, {});
  together.advance(halves);
  together.advance(ends);
  const auto drivers = together.drivers();
  std::size_t pending = 0, later = 0;
  for (std::size_t i = 0; i < subjects.size(); i += 4) {
    INFO("flow " << i);
    const FlowLanes one({flows[i]}, {});
    const auto alone = std::move(one.drivers()[0]);
    for (const double t : {halves[i], ends[i]}) alone->advance(t);
    CHECK(popflow::test::history_of(*drivers[i]) == popflow::test::history_of(*alone));
    CHECK(numbers(*drivers[i]) == numbers(*alone));

    // Interrupt between two targets, while some extrema are not yet confirmed.
    int asked = 0;
    const FlowLanes first({flows[i]}, [&] { return ++asked > 2; });
    const auto stopped = std::move(first.drivers()[0]);
    CHECK(stopped->advance(halves[i]).kind == Outcome::Kind::reached);
    if (stopped->advance(ends[i]).kind != Outcome::Kind::interrupted) continue;
    const ResumePoint point = stopped->resume_point();
    const FlowLanes second({flows[i]}, {});
    const auto resumed = std::move(second.drivers()[0]);
    resumed->restore(*point.x, *point.regime, point.t, point.data);
    resumed->advance(ends[i]);
    CHECK(numbers(*resumed) == numbers(*alone));
    CHECK(found(*resumed) == found(*alone));
    later += alone->events().size() - stopped->events().size();
    pending += stopped->events().empty() ? 1 : 0;
  }
  CHECK(later > 5);
  CHECK(pending > 0);
}

TEST_CASE("joma: large states and full coordinates have no lanes", "[fast][joma][lanes]") {
  struct Case {
    Words words;
    bool any;
  };
  for (const auto& [words, any] :
       std::vector<Case>{{{"--tokens", "32"}, true},
                         {{"--tokens", "33"}, false},
                         {{"--tokens", "32", "--nodes", "1000"}, true},
                         {kTargets + Words{"--tokens", "32", "--nodes", "8"}, true},
                         {kTargets + Words{"--tokens", "32", "--nodes", "9"}, false},
                         {{"--data", "tree", "--tree-depth", "5"}, true},
                         {{"--data", "tree", "--tree-depth", "6"}, false},
                         {{"--coordinates", "reduced"}, true},
                         {{"--coordinates", "full"}, false}}) {
    const Subject subject("joma", words);
    INFO(subject.config.own.text("tokens") << " tokens, " << words[0]);
    const Capability<InLanes> lanes = subject.system->capabilities().in_lanes;
    CHECK(static_cast<bool>(lanes) == any);
    CHECK(lanes.why_not().empty() == any);
    CHECK(subject.system->info().flow_in_lanes(subject.config.own) == any);
  }
}
