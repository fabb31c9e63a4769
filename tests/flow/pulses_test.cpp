// A right-hand side that is nearly zero at the start, or for a long time, and acts only briefly.

#include <cmath>
#include "support/catch.hpp"

#include "flow/flow_lanes.hpp"
#include "popflow/flow_driver.hpp"
#include "popflow/function_system.hpp"
#include "support/toy_systems.hpp"

namespace popflow::test {
namespace {

const double kRootPi = std::sqrt(std::acos(-1));

double pulse(double t, double middle, double width) {
  const double u = (t - middle) / width;
  return std::exp(-u * u);
}

struct End {
  double x;
  StepStatistics statistics;
  IntervalSteps last;
};

End end_of(const Toy& toy, FlowDriver::Options options, double end = 100, int targets = 1) {
  const ToySystem system(toy);
  Workers workers(1);
  FlowDriver driver(system, workers, std::move(options));
  for (int i = 1; i <= targets; ++i)
    REQUIRE(driver.advance(end * i / targets).kind == Outcome::Kind::reached);
  return {driver.state()[0], driver.statistics(), driver.interval()};
}

TEST_CASE("a pulse after a start with zero slope is integrated", "[fast][flow]") {
  // fehlberg78 is left out: where the slope depends on t alone, its error estimate is zero for all
  // steps.
  const std::string method = GENERATE("dopri5", "bulirsch_stoer", "rosenbrock4");
  const double start = GENERATE(0.0, 1.0);
  for (const double middle : {50.0, 20.0, 73.0})
    for (const double width : {1.0, 3.0, 4.0}) {
      INFO(method << " from " << start << ", pulse at " << middle << " of width " << width);
      const Toy toy = one(start, [=](double, double t) { return pulse(t, middle, width); });
      CHECK(end_of(toy, {.method = method}).x - start ==
            Approx(width * kRootPi).epsilon(method == "rosenbrock4" ? 1e-5 : 1e-6));
    }
}

TEST_CASE("a pulse in the growth rate is integrated after a start with zero slope",
          "[fast][flow]") {
  const std::string method = GENERATE("dopri5", "fehlberg78", "bulirsch_stoer", "rosenbrock4");
  for (const double middle : {50.0, 20.0, 73.0})
    for (const double width : {1.0, 3.0}) {
      INFO(method << ", pulse at " << middle << " of width " << width);
      const Toy toy = one(1, [=](double x, double t) { return x * pulse(t, middle, width); });
      // fehlberg78's error estimate is nearly zero while x is constant.
      const double off = method == "fehlberg78" ? 2e-4 : 1e-5;
      CHECK(std::log(end_of(toy, {.method = method}).x) == Approx(width * kRootPi).epsilon(off));
    }
}

TEST_CASE("a pulse early in a long run with zero slope is integrated", "[fast][flow]") {
  const Toy toy = one(0, [](double, double t) { return pulse(t, 20, 3); });
  CHECK(end_of(toy, {}, 1e6).x == Approx(3 * kRootPi).epsilon(1e-6));
}

TEST_CASE("a start at rest takes a few steps in each decade of time", "[fast][flow]") {
  const Toy toy = one(1, [](double, double) { return 0; });
  const End one_way = end_of(toy, {});
  CHECK(one_way.x == 1);
  // From 1e-6 to 100 there are eight decades.
  CHECK(one_way.statistics.accepted > 8 * 15);
  CHECK(one_way.statistics.accepted < 8 * 27);
  CHECK(end_of(toy, {}, 100, 200).statistics.accepted < 400);
}

TEST_CASE("a small nonzero slope does not limit the step size", "[fast][flow]") {
  // odeint starts with 0.01 and makes each step five times as long.
  const Toy toy = one(1, [](double, double) { return 1e-3; });
  CHECK(end_of(toy, {}).statistics.accepted <= 4);
}

TEST_CASE("no step of an adaptive method exceeds the maximum step size", "[fast][flow]") {
  const std::string method = GENERATE("dopri5", "fehlberg78", "bulirsch_stoer", "rosenbrock4");
  INFO(method);
  // A pulse after a constant slope has made steps long.
  const Toy toy = one(0, [](double, double t) { return 1e-3 + pulse(t, 73, 0.1); });
  const End bounded = end_of(toy, {.method = method, .max_step = 0.25});
  // Error of fehlberg78 with steps of 0.25, since its error estimate misses the pulse.
  const double off = method == "fehlberg78" ? 1e-3 : 1e-5;
  CHECK(bounded.x == Approx(0.1 + 0.1 * kRootPi).epsilon(off));
  CHECK(bounded.last.largest <= 0.25 * (1 + 1e-9));
  CHECK(bounded.statistics.accepted >= 400);
  // The first step may exceed the maximum, and intervals need not be a multiple of it.
  const End other = end_of(toy, {.method = method, .dt = 3, .max_step = 0.25}, 100, 7);
  CHECK(other.last.largest <= 0.25 * (1 + 1e-9));
  CHECK(other.x == Approx(0.1 + 0.1 * kRootPi).epsilon(off));
}

TEST_CASE("fixed steps ignore the maximum step size", "[fast][flow]") {
  const Toy toy = one(0, [](double, double) { return 1; });
  CHECK(end_of(toy, {.method = "rk4", .dt = 2, .max_step = 0.25}).statistics.accepted == 50);
}

TEST_CASE("a flow from a vanishing slope resumes bit for bit", "[fast][flow]") {
  const ToySystem system(one(0, [](double, double t) { return pulse(t, 50, 3); }));
  Workers workers(1);
  FlowDriver whole(system, workers, {});
  whole.advance(100);
  int asked = 0;
  FlowDriver first(system, workers, {.hooks = {.interrupted = [&] { return ++asked > 40; }}});
  REQUIRE(first.advance(100).kind == Outcome::Kind::interrupted);
  const ResumePoint point = first.resume_point();
  FlowDriver second(system, workers, {});
  second.restore(*point.x, *point.regime, point.t, point.data);
  REQUIRE(second.advance(100).kind == Outcome::Kind::reached);
  CHECK(second.state()[0] == whole.state()[0]);
  CHECK(second.statistics().accepted == whole.statistics().accepted);
  CHECK(second.statistics().evaluations == whole.statistics().evaluations);
}

TEST_CASE("the end does not change the first steps from a vanishing slope", "[fast][flow]") {
  const ToySystem system(one(0, [](double, double t) { return pulse(t, 50, 3); }));
  Workers workers(1);
  FlowDriver longer(system, workers, {});
  longer.advance(100);
  FlowDriver extended(system, workers, {});
  extended.advance(30);
  const ResumePoint point = extended.resume_point();
  FlowDriver second(system, workers, {});
  second.restore(*point.x, *point.regime, point.t, point.data);
  REQUIRE(second.advance(100).kind == Outcome::Kind::reached);
  CHECK(second.state()[0] == longer.state()[0]);
  CHECK(second.statistics().accepted == longer.statistics().accepted);
  CHECK(second.statistics().evaluations == longer.statistics().evaluations);
}

/// System at rest, which can run in lanes and alone.
struct Lanes {
  FunctionSystem system;
  explicit Lanes(double max_step = std::numeric_limits<double>::infinity())
      : system{.name = "pulse",
               .title = "pulse",
               .source = "a test",
               .equations = "x' = 0",
               .parameters = {},
               .functions = [max_step](const Parameters&, const Setting&) {
                 Functions f;
                 f.state = {{"x", {1}, "place"}};
                 f.rhs = [](std::span<const double>, double, std::span<double> out) { out[0] = 0; };
                 f.max_step = max_step;
                 f.lanes = Functions::Lanes{
                     .rhs = [](const LaneSizes&, const double*, const double*, double* dxdt) {
                       for (std::size_t l = 0; l < kLanes; ++l) dxdt[l] = 0;
                     }};
                 return f;
               }} {}
  Made make(Workers& workers) const {
    const Catalogue catalogue(std::vector<CatalogueRow>{system});
    return catalogue.make(system.name, Parameters(system.parameters), {}, workers);
  }
};

TEST_CASE("lanes take the same cautious and bounded steps as single flows", "[fast][flow][lanes]") {
  Workers workers(1);
  struct Case {
    double of_system;
    FlowDriver::Options options;
  };
  const double none = std::numeric_limits<double>::infinity();
  for (const Case& one : {Case{none, {}}, Case{none, {.max_step = 0.7}}, Case{0.7, {}},
                          Case{0.7, {.max_step = 2}}, Case{none, {.dt = 30, .max_step = 2}}}) {
    const Made made = Lanes(one.of_system).make(workers);
    FlowDriver alone(*made.system, workers, one.options);
    const FlowLanes lanes({{made.system.get(), one.options}}, {});
    const auto in_lane = std::move(lanes.drivers()[0]);
    for (const double target : {3.0, 100.0}) {
      alone.advance(target);
      in_lane->advance(target);
      CHECK(in_lane->interval().largest == alone.interval().largest);
      CHECK(in_lane->interval().number == alone.interval().number);
    }
    CHECK(in_lane->statistics().accepted == alone.statistics().accepted);
    const double longest = one.options.max_step.value_or(one.of_system);
    CHECK(alone.interval().largest <= longest * (1 + 1e-9));
  }
}

TEST_CASE("flows in lanes from a vanishing slope resume to the same steps", "[fast][flow][lanes]") {
  Workers workers(1);
  const Made made = Lanes().make(workers);
  const FlowLanes whole({{made.system.get(), {}}}, {});
  const auto expected = std::move(whole.drivers()[0]);
  for (const double target : {3.0, 100.0}) expected->advance(target);
  const FlowLanes first({{made.system.get(), {}}}, {});
  const auto begun = std::move(first.drivers()[0]);
  begun->advance(3);
  const ResumePoint point = begun->resume_point();
  const FlowLanes second({{made.system.get(), {}}}, {});
  const auto resumed = std::move(second.drivers()[0]);
  resumed->restore(*point.x, *point.regime, point.t, point.data);
  for (std::size_t again = 0; again < point.targets_after; ++again) resumed->advance(3);
  resumed->advance(100);
  CHECK(resumed->statistics().accepted == expected->statistics().accepted);
  CHECK(resumed->interval().largest == expected->interval().largest);
}

}  // namespace
}  // namespace popflow::test
