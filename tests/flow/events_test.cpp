// Times and order of events.

#include <cmath>

#include "popflow/flow_driver.hpp"
#include "steppers/flow_methods.hpp"
#include "support/catch.hpp"
#include "support/slopes.hpp"
#include "support/toy_systems.hpp"

namespace popflow::test {
namespace {

/// Returns x = cos t with the given events; event functions may depend on t and x.
Toy with_events(std::vector<EventInfo> events, Toy::Function functions) {
  Toy toy = oscillator();
  toy.events = std::move(events);
  toy.event_functions = std::move(functions);
  return toy;
}

struct Result {
  std::vector<FoundEvent> events;
  StepStatistics statistics;
};

Result run(const Toy& toy, double end, FlowDriver::Options options = {}, int targets = 1) {
  const ToySystem system(toy);
  Workers workers(1);
  FlowDriver driver(system, workers, std::move(options));
  for (int i = 1; i <= targets; ++i)
    REQUIRE(driver.advance(end * i / targets).kind == Outcome::Kind::reached);
  return {driver.events(), driver.statistics()};
}

const double kPi = std::acos(-1);

/// System with two events, whose heights are -cos t and cos t.
class Heights : public ToySystem {
 public:
  using ToySystem::ToySystem;
  [[nodiscard]] double event_height(std::size_t event, StateView /*x*/, double t) const override {
    return event == 0 ? -std::cos(t) : std::cos(t);
  }
};

TEST_CASE("an event is located to the method's accuracy", "[fast][flow]") {
  const std::string method =
      GENERATE("dopri5", "fehlberg78", "verner8", "bulirsch_stoer", "rosenbrock4", "rk4", "euler");
  INFO(method);
  // cos t falls through 0.5 at pi/3, the first upward crossing of 0.5 - cos t.
  const Toy toy = with_events({{"half", ""}}, [](auto x, double, auto g) { g[0] = 0.5 - x[0]; });
  FlowDriver::Options options{.method = method};
  if (method == "rk4") options.dt = 0.01;
  if (method == "euler") options.dt = 1e-4;
  const auto [events, statistics] = run(toy, 10, options, GENERATE(1, 7));
  REQUIRE(events.size() == 1);
  CHECK(events[0].event == 0);
  CHECK(events[0].time == Approx(kPi / 3).margin(method == "euler" ? 1e-4 : 1e-7));
}

TEST_CASE("an event's position within a step does not matter", "[fast][flow]") {
  // fehlberg78 takes steps of 1; the level is crossed anywhere in the first step.
  for (double time = 0.05; time < 3; time += 0.13) {
    const double level = std::cos(time);
    const Toy toy =
        with_events({{"level", ""}}, [level](auto x, double, auto g) { g[0] = level - x[0]; });
    const auto [events, statistics] = run(toy, 3, {.method = "fehlberg78", .dt = 0.8});
    REQUIRE(events.size() == 1);
    CHECK(events[0].time == Approx(time).margin(1e-8));
  }
}

TEST_CASE("several events in one step come in order of time", "[fast][flow]") {
  const std::string method = GENERATE("dopri5", "bulirsch_stoer", "rk4");
  INFO(method);
  const Toy toy =
      with_events({{"late", ""}, {"early", ""}, {"middle", ""}}, [](auto, double t, auto g) {
        g[0] = t - 0.53;
        g[1] = t - 0.511;
        g[2] = t - 0.52;
      });
  const auto [events, statistics] = run(toy, 1, {.method = method, .rtol = 1e-3, .dt = 0.5});
  REQUIRE(events.size() == 3);
  CHECK(events[0].event == 1);
  CHECK(events[1].event == 2);
  CHECK(events[2].event == 0);
  CHECK(events[0].time == Approx(0.511).margin(1e-12));
  CHECK(events[1].time == Approx(0.52).margin(1e-12));
  CHECK(events[2].time == Approx(0.53).margin(1e-12));
}

TEST_CASE("an event that must follow another is found only after it", "[fast][flow]") {
  SECTION("not before it, even if the event function crossed zero earlier") {
    // sin t crosses 0.1 upwards near 0 and near 2 pi; the first event happens between them.
    const Toy toy =
        with_events({{"second", "", "first"}, {"first", ""}}, [](auto x, double t, auto g) {
          g[0] = -x[1] - 0.1;  // sin t - 0.1
          g[1] = t - 2.5 * kPi / 2;
        });
    const auto [events, statistics] = run(toy, 20);
    REQUIRE(events.size() == 2);
    CHECK(events[0].event == 1);
    CHECK(events[1].time == Approx(2 * kPi + std::asin(0.1)).margin(1e-7));
  }
  SECTION("in the same step") {
    const Toy toy =
        with_events({{"c", "", "b"}, {"b", "", "a"}, {"a", ""}}, [](auto, double t, auto g) {
          g[0] = t - 0.53;
          g[1] = t - 0.52;
          g[2] = t - 0.51;
        });
    const auto [events, statistics] =
        run(toy, 1, {.method = "fehlberg78", .rtol = 1e-3, .dt = 0.5});
    REQUIRE(events.size() == 3);
    CHECK(events[0].event == 2);
    CHECK(events[2].event == 0);
    CHECK(events[2].time == Approx(0.53).margin(1e-12));
  }
  SECTION("only once its function has been negative after the other") {
    const Toy toy =
        with_events({{"first", ""}, {"second", "", "first"}}, [](auto, double t, auto g) {
          g[0] = t - 0.5;
          g[1] = std::abs(t - 0.7) - 0.1;
        });
    const auto [events, statistics] = run(toy, 1);
    REQUIRE(events.size() == 2);
    CHECK(events[0].time == Approx(0.5).margin(1e-12));
    CHECK(events[1].time == Approx(0.8).margin(1e-7));
  }
  SECTION("never if the other never happens") {
    const Toy toy = with_events({{"first", ""}, {"second", "", "first"}},
                                [](auto, double, auto g) { g[0] = -1, g[1] = 1; });
    CHECK(run(toy, 10).events.empty());
  }
}

TEST_CASE("an event's function must be negative before it crosses zero upwards", "[fast][flow]") {
  const Toy::Function functions = [](auto, double t, auto g) {
    g[0] = 1;
    g[1] = t;                        // 0 at the start, then positive
    g[2] = t * (t - 0.5);            // 0 at the start, then negative
    g[3] = std::abs(t - 0.5) - 0.2;  // positive at the start, negative from 0.3
    g[4] = t - 0.4;
    g[5] = std::max(t - 0.6, 0.0);  // clipped: never negative
  };
  const Toy toy = with_events(
      {{"always", ""}, {"left", ""}, {"zero", ""}, {"again", ""}, {"once", ""}, {"clipped", ""}},
      functions);
  FlowDriver::Options options{.max_step = 0.05};
  options.method = GENERATE("dopri5", "rk4", "euler");
  if (options.method->name != "dopri5") options.dt = 0.01;
  INFO(options.method->name);
  const auto [events, statistics] = run(toy, 1, options);
  REQUIRE(events.size() == 3);
  CHECK((events[0].event == 4 && std::abs(events[0].time - 0.4) < 1e-7));
  CHECK((events[1].event == 2 && std::abs(events[1].time - 0.5) < 1e-7));
  CHECK((events[2].event == 3 && std::abs(events[2].time - 0.7) < 1e-7));
}

TEST_CASE("an event on the last step, and at the very end, is found", "[fast][flow]") {
  const Toy toy =
      with_events({{"before", ""}, {"at", ""}, {"after", ""}}, [](auto, double t, auto g) {
        g[0] = t - (1 - 1e-9);
        g[1] = t - 1;
        g[2] = t - (1 + 1e-9);
      });
  const auto [events, statistics] = run(toy, 1);
  REQUIRE(events.size() == 2);
  CHECK(events[0].time == Approx(1 - 1e-9).epsilon(1e-13));
  CHECK(events[1].time == 1);
}

TEST_CASE("an event happens once", "[fast][flow]") {
  const Toy toy = with_events({{"up", ""}}, [](auto x, double, auto g) { g[0] = x[0] - 0.5; });
  // The event function is positive at the start, and becomes positive at 5 pi/3 and 11 pi/3.
  const auto again = run(toy, 20).events;
  REQUIRE(again.size() == 1);
  CHECK(again[0].time == Approx(5 * kPi / 3).margin(1e-7));
  const Toy later = with_events({{"up", ""}}, [](auto x, double, auto g) { g[0] = -x[0]; });
  const auto [events, statistics] = run(later, 20);
  REQUIRE(events.size() == 1);
  CHECK(events[0].time == Approx(kPi / 2).margin(1e-7));
}

TEST_CASE("finding events does not change the trajectory", "[fast][flow]") {
  const std::string method =
      GENERATE("dopri5", "fehlberg78", "verner8", "rosenbrock4", "rk4", "euler", "bulirsch_stoer");
  INFO(method);
  Workers workers(1);
  std::vector<double> ends;
  for (const bool watched : {false, true}) {
    Toy toy = oscillator();
    if (watched) {
      toy.events = {{"half", ""}, {"zero", ""}};
      toy.event_functions = [](auto x, double, auto g) { g[0] = 0.5 - x[0], g[1] = -x[0]; };
    }
    const ToySystem system(toy);
    FlowDriver::Options options{.method = method};
    if (method == "rk4" || method == "euler") options.dt = 0.1;
    FlowDriver driver(system, workers, options);
    driver.advance(10);
    CHECK(driver.events().size() == (watched ? 2 : 0));
    ends.push_back(driver.state()[0]);
  }
  CHECK(ends[0] == ends[1]);
}

TEST_CASE("dopri5 locates events by dense output, with two more right-hand sides per step",
          "[fast][flow]") {
  const Toy toy =
      with_events({{"half", ""}, {"zero", ""}, {"clock", ""}}, [](auto x, double t, auto g) {
        g[0] = 0.5 - x[0];
        g[1] = -x[0];
        g[2] = t - 6;
      });
  // Errors of events fall with the tolerances like errors of steps, and stay close to the
  // tolerance.
  for (const double rtol : {1e-4, 1e-6, 1e-8, 1e-10, 1e-12}) {
    INFO(rtol);
    const auto [events, statistics] = run(toy, 10, {.rtol = rtol, .atol = rtol});
    REQUIRE(events.size() == 3);
    CHECK(std::abs(events[0].time - kPi / 3) < 20 * rtol);
    CHECK(std::abs(events[1].time - kPi / 2) < 20 * rtol);
    CHECK(std::abs(events[2].time - 6) < 1e-12);
  }
  const auto with = run(toy, 10).statistics;
  const auto without = run(oscillator(), 10).statistics;
  CHECK(with.evaluations == without.evaluations + 3 * 2);
  CHECK(with.accepted == without.accepted);
  CHECK(with.rejected == without.rejected);
}

TEST_CASE("rk4 locates events by dense output of at least its own order", "[fast][flow]") {
  const Toy toy = with_events({{"half", ""}}, [](auto x, double, auto g) { g[0] = 0.5 - x[0]; });
  std::vector<double> steps, errors;
  for (const double h : {0.2, 0.1, 0.05, 0.025}) {
    // The event lies in the middle of a step, where the error of dense output is largest.
    const Toy shifted = with_events(
        {{"level", ""}}, [h](auto x, double, auto g) { g[0] = std::cos(1 + h / 2) - x[0]; });
    const auto [events, statistics] = run(shifted, 2, {.method = "rk4", .dt = h});
    REQUIRE(events.size() == 1);
    steps.push_back(h);
    errors.push_back(std::abs(events[0].time - (1 + h / 2)));
  }
  CHECK(log_log_slope(steps, errors) > 3.8);
  const auto with = run(toy, 2, {.method = "rk4", .dt = 0.1}).statistics;
  const auto without = run(oscillator(), 2, {.method = "rk4", .dt = 0.1}).statistics;
  CHECK(with.evaluations == without.evaluations + 4);
}

TEST_CASE("euler locates events on its straight steps, without more right-hand sides",
          "[fast][flow]") {
  constexpr double kStep = 0.01;
  const Toy toy = with_events({{"half", ""}}, [](auto x, double, auto g) { g[0] = 0.5 - x[0]; });
  const auto [events, with] = run(toy, 2, {.method = "euler", .dt = kStep});
  REQUIRE(events.size() == 1);
  std::vector<double> x = toy.start;
  std::vector<double> dxdt(x.size());
  for (int step = 0;; ++step) {
    toy.rhs(x, 0, dxdt);
    if (x[0] + kStep * dxdt[0] <= 0.5) {
      CHECK(events[0].time ==
            Approx(step * kStep + (0.5 - x[0]) / dxdt[0]).margin(1e-12).epsilon(0));
      break;
    }
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += kStep * dxdt[i];
  }
  CHECK(with.evaluations ==
        run(oscillator(), 2, {.method = "euler", .dt = kStep}).statistics.evaluations);
}

TEST_CASE("fehlberg78 locates events by dense output, as accurately as by steps", "[fast][flow]") {
  const Toy toy =
      with_events({{"half", ""}, {"zero", ""}, {"clock", ""}}, [](auto x, double t, auto g) {
        g[0] = 0.5 - x[0];
        g[1] = -x[0];
        g[2] = t - 6;
      });
  for (const double rtol : {1e-4, 1e-6, 1e-8, 1e-10, 1e-12}) {
    INFO(rtol);
    const FlowDriver::Options options{.method = "fehlberg78", .rtol = rtol, .atol = rtol};
    const auto [events, with] = run(toy, 10, options);
    REQUIRE(events.size() == 3);
    CHECK(std::abs(events[0].time - kPi / 3) < 4 * rtol);
    CHECK(std::abs(events[1].time - kPi / 2) < 4 * rtol);
    CHECK(std::abs(events[2].time - 6) < 1e-12);
    // A step with an event takes at most four sweeps of four right-hand sides and a check. The
    // slope at its end is also the first of the next step.
    const auto without = run(oscillator(), 10, options).statistics;
    CHECK(with.evaluations > without.evaluations);
    CHECK(with.evaluations <= without.evaluations + 3 * (4 * 4 + 1));
    CHECK(with.accepted == without.accepted);
    CHECK(with.rejected == without.rejected);
  }
}

TEST_CASE("bulirsch_stoer locates an event by shorter and shorter steps", "[fast][flow]") {
  const Toy toy = with_events({{"half", ""}}, [](auto x, double, auto g) { g[0] = 0.5 - x[0]; });
  std::int64_t spent = 0;
  for (const double rtol : {1e-6, 1e-8, 1e-10}) {
    INFO(rtol);
    const FlowDriver::Options options{.method = "bulirsch_stoer", .rtol = rtol, .atol = rtol};
    const auto [events, with] = run(toy, 10, options);
    REQUIRE(events.size() == 1);
    CHECK(std::abs(events[0].time - kPi / 3) < 4 * rtol);
    const auto without = run(oscillator(), 10, options).statistics;
    spent += with.evaluations - without.evaluations;
    CHECK(with.accepted == without.accepted);
  }
  // A search that always starts at the step's beginning would take 637 right-hand sides.
  CHECK(spent < 550);
}

/// Returns x' = 1 from 0.
Toy clock() {
  return one(0, [](double, double) { return 1; });
}

TEST_CASE("an event function that reaches zero and stays there gives the time of reaching zero",
          "[fast][flow]") {
  const std::string method =
      GENERATE("dopri5", "fehlberg78", "verner8", "bulirsch_stoer", "rosenbrock4", "rk4", "euler");
  INFO(method);
  FlowDriver::Options options{.method = method};
  if (method == "rk4" || method == "euler") options.dt = 0.3;
  const int targets = GENERATE(1, 10, 200);
  INFO(targets << " targets");
  Toy toy = clock();
  toy.events = {{"clipped", ""}, {"count", ""}, {"held", ""}, {"at_end", ""}};
  toy.event_functions = [](auto x, double t, auto g) {
    g[0] = std::min(0.0, x[0] - 4);              // a clipped quantity
    g[1] = std::min(std::floor(x[0]), 4.0) - 4;  // a count that reaches its target
    g[2] = x[0] < 6 ? std::min(0.0, x[0] - 4) : x[0] - 6;
    g[3] = std::min(0.0, t - 10);
  };
  const auto [events, statistics] = run(toy, 10, options, targets);
  REQUIRE(events.size() == 4);
  for (const FoundEvent& event : events) {
    INFO("event " << event.event);
    CHECK(event.time == Approx(event.event == 3 ? 10 : 4).epsilon(1e-12));
  }
}

TEST_CASE("a zero at the very end of a step is found there", "[fast][flow]") {
  Toy toy = clock();
  toy.events = {{"there", ""}};
  toy.event_functions = [](auto x, double, auto g) { g[0] = x[0] - 4; };
  const auto [events, statistics] = run(toy, 8, {.method = "euler", .dt = 0.5}, 2);
  REQUIRE(events.size() == 1);
  CHECK(events[0].time == 4);
}

TEST_CASE("a NaN event function triggers no event", "[fast][flow]") {
  const Toy toy = with_events({{"never", ""}}, [](auto, double, auto g) { g[0] = std::nan(""); });
  CHECK(run(toy, 3).events.empty());
}

TEST_CASE("an extremum is an event if it is prominent enough", "[fast][flow]") {
  // A wide valley around 5 with small oscillations, which give it about 15 local minima.
  const auto height = [](double t) { return (t - 5) * (t - 5) / 25 + 0.0004 * std::sin(40 * t); };
  const auto slope = [](double t) { return 2 * (t - 5) / 25 + 0.016 * std::cos(40 * t); };
  Toy toy = with_events({{.name = "low", .meaning = "", .prominence = 0.01},
                         {.name = "after", .meaning = "", .after = "low"}},
                        [&](auto, double t, auto g) {
                          g[0] = slope(t);
                          g[1] = t - 5.9;
                        });
  toy.event_height = [&](auto, double t) { return height(t); };
  double lowest = 0;
  for (double t = 0; t < 10; t += 1e-4)
    if (height(t) < height(lowest)) lowest = t;

  const int targets = GENERATE(1, 9, 100);
  const auto [events, statistics] = run(toy, 8, {.method = "rk4", .dt = 0.01}, targets);
  REQUIRE(events.size() == 2);
  CHECK(events[0].event == 0);
  CHECK(events[0].time == Approx(lowest).margin(2e-4));
  CHECK(std::abs(slope(events[0].time)) < 1e-6);
  CHECK(events[1].time == Approx(5.9));
  // Without enough prominence by the end of the run an extremum is no event.
  CHECK(run(toy, 5.3, {.method = "rk4", .dt = 0.01}, targets).events.empty());
}

TEST_CASE("an extremum that must follow another is located within a step that contains both",
          "[fast][flow]") {
  // cos t falls from 0 on and rises from pi on; the first step contains both extrema.
  Toy toy = with_events({{.name = "falls", .meaning = "", .prominence = 0.1},
                         {.name = "minimum", .meaning = "", .after = "falls", .prominence = 0.1}},
                        [](auto, double t, auto g) {
                          g[0] = std::sin(t);
                          g[1] = -std::sin(t);
                        });
  const std::string method = GENERATE("rk4", "euler");
  const double dt = GENERATE(5.0, 4.0, 1.0);
  INFO(method << " by " << dt);
  const Heights system(toy);
  Workers workers(1);
  FlowDriver driver(system, workers, {.method = method, .dt = dt});
  REQUIRE(driver.advance(10).kind == Outcome::Kind::reached);
  const std::vector<FoundEvent>& events = driver.events();
  REQUIRE(events.size() == 2);
  CHECK(events[0].time == 0);
  CHECK(events[1].time == Approx(kPi));
}

}  // namespace
}  // namespace popflow::test
