#include "flow/flow_lanes.hpp"

#include <array>
#include <boost/numeric/odeint/stepper/runge_kutta_dopri5.hpp>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <tuple>
#include <utility>

#include "flow/step_within.hpp"
#include "steppers/dopri5_tableau.hpp"
#include "steppers/flow_methods.hpp"
#include "steppers/lane_stepper.hpp"
#include "support/catch.hpp"
#include "support/clock_system.hpp"
#include "support/lane_flows.hpp"
#include "support/markov_fixture.hpp"
#include "support/slopes.hpp"

// Flows in SIMD lanes compared with odeint's steppers, and with each flow alone.

using namespace popflow;
using namespace popflow::markov;
using namespace popflow::markov::test;
using popflow::test::numbers;

namespace {

/// Returns more starts than there are lanes; some flows end far sooner than others.
std::vector<std::unique_ptr<const Markov>> many(bool free) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> e(-1.5, 1.5), w(-1.8, 0.9);
  std::vector<std::unique_ptr<const Markov>> systems;
  for (std::size_t i = 0; i < 40; ++i) {
    const PQ& of = kChains[i % 5];
    const double e0 = i == 17 ? 0 : e(random), w0 = i == 23 ? 0 : w(random);
    systems.emplace_back(free ? new Markov(free_bias(of, e0, w0, 0.3))
                              : new Markov(optimal(of, e0, w0)));
  }
  return systems;
}

FlowLanes lanes_of(const std::vector<std::unique_ptr<const Markov>>& systems,
                   const FlowDriver::Options& options = {}) {
  std::vector<FlowLanes::Flow> flows;
  for (const auto& system : systems) flows.push_back({system.get(), options});
  return {std::move(flows), {}};
}

/// Smallest system that can run in lanes.
class Small : public System, public InLanes {
 public:
  explicit Small(std::vector<double> start) : start_(std::move(start)) {
    shape_.blocks = {{"x", start_.size(), 1}};
    shape_.fields = {"x"};
    info_.name = "small";
  }
  [[nodiscard]] const SystemInfo& info() const override { return info_; }
  [[nodiscard]] const Shape& shape() const override { return shape_; }
  [[nodiscard]] Capabilities capabilities() const override {
    Capabilities can;
    can.in_lanes = this;
    return can;
  }
  void start(std::span<double> x) const override {
    std::copy(start_.begin(), start_.end(), x.begin());
  }
  void observe(StateView, double, std::span<double>) const override {}
  void field(std::string_view, StateView, double, const FieldSink&) const override {}
  [[nodiscard]] double default_end() const override { return 3; }
  void lane_parameters(std::span<double>) const override {}

 protected:
  std::vector<double> start_;
  SystemInfo info_;
  Shape shape_;
};

/// dx/dt = x^2
class BlowUp : public Small {
 public:
  explicit BlowUp(double start) : Small({start}) {}
  void rhs(StateView x, double, std::span<double> dxdt) const override { dxdt[0] = x[0] * x[0]; }
  [[nodiscard]] const LaneFormulas& lane_formulas() const override {
    static const LaneFormulas formulas{
        {0, 1}, [](const LaneSizes&, const double*, const double* x, double* dxdt) {
          for (std::size_t l = 0; l < kLanes; ++l) dxdt[l] = x[l] * x[l];
        }};
    return formulas;
  }
};

constexpr double kGrowth = 0.1;
constexpr auto swell = [](double x, double y) {
  return std::pair{kGrowth * x - y, kGrowth * y + x};
};

/// Oscillation of growing amplitude; a minimum is an event if it is deep enough.
class Swell : public Small, public Events {
 public:
  explicit Swell(double start) : Small({start, 0}) {
    info_.events = {{.name = "minimum", .meaning = "of x", .prominence = 1e-3}};
    shape_.events = {"minimum"};
  }
  [[nodiscard]] Capabilities capabilities() const override {
    Capabilities can = Small::capabilities();
    can.events = this;
    return can;
  }
  void rhs(StateView x, double, std::span<double> dxdt) const override {
    std::tie(dxdt[0], dxdt[1]) = swell(x[0], x[1]);
  }
  void event_functions(StateView x, double, std::span<double> values) const override {
    values[0] = swell(x[0], x[1]).first;
  }
  [[nodiscard]] double event_height(std::size_t, StateView x, double) const override {
    return x[0];
  }
  [[nodiscard]] const LaneFormulas& lane_formulas() const override {
    static const LaneFormulas formulas{
        .sizes = {0, 2},
        .flow =
            [](const LaneSizes&, const double*, const double* x, double* dxdt) {
              for (std::size_t l = 0; l < kLanes; ++l)
                std::tie(dxdt[l], dxdt[kLanes + l]) = swell(x[l], x[kLanes + l]);
            },
        .events =
            [](const LaneSizes&, const double*, const double* x, double* values) {
              for (std::size_t l = 0; l < kLanes; ++l) {
                values[l] = swell(x[l], x[kLanes + l]).first;
                values[kLanes + l] = x[l];
              }
            }};
    return formulas;
  }
};

}  // namespace

TEST_CASE("flows in lanes agree with odeint's to the tolerance", "[fast][flow][lanes]") {
  using Case = std::pair<const char*, bool>;
  for (const auto& [method, free] :
       {Case{"dopri5", false}, Case{"dopri5", true}, Case{"fehlberg78", true},
        Case{"verner8", false}, Case{"verner8", true}}) {
    const std::vector<std::unique_ptr<const Markov>> systems = many(free);
    FlowDriver::Options options{.method = method, .rtol = 1e-9, .atol = 1e-11};
    REQUIRE(has_flow_lanes(*systems[0], options.method, false));
    FlowLanes lanes = lanes_of(systems, options);
    const auto drivers = lanes.drivers();
    std::vector<double> targets;
    for (std::size_t i = 0; i < systems.size(); ++i) targets.push_back(i % 3 == 0 ? 4 : 30);
    lanes.advance(targets);
    for (std::size_t i = 0; i < systems.size(); ++i) {
      INFO(method << ", flow " << i << ", free bias: " << free);
      CHECK(drivers[i]->advance(targets[i]).kind == Outcome::Kind::reached);
      CHECK(drivers[i]->time() == targets[i]);
      const Run run(*systems[i], targets[i], options);
      const Run exact(*systems[i], targets[i], {.rtol = 1e-12, .atol = 1e-14});
      for (std::size_t j = 0; j < drivers[i]->state().size(); ++j) {
        const double truth = exact.x[static_cast<Eigen::Index>(j)];
        const double theirs = std::abs(run.x[static_cast<Eigen::Index>(j)] - truth);
        CHECK(std::abs(drivers[i]->state()[j] - truth) < 2 * theirs + 1e-9);
      }
      // Numbers of steps are equal except for one step that rounding may decide.
      CHECK(std::abs(static_cast<double>(drivers[i]->statistics().accepted -
                                         run.driver.statistics().accepted)) <= 2);
      REQUIRE(drivers[i]->events().size() == run.driver.events().size());
      if (!drivers[i]->events().empty() && !exact.driver.events().empty()) {
        const double truth = exact.driver.events()[0].time;
        const double theirs = std::abs(run.driver.events()[0].time - truth);
        CHECK(std::abs(drivers[i]->events()[0].time - truth) < 3 * theirs + 1e-7 * truth);
      }
    }
  }
}

TEST_CASE("a flow has the same bits alone and in lanes with others", "[fast][flow][lanes]") {
  const std::vector<std::unique_ptr<const Markov>> systems = many(false);
  FlowLanes lanes = lanes_of(systems);
  const auto drivers = lanes.drivers();
  for (const double t : {2.0, 20.0}) lanes.advance(std::vector<double>(systems.size(), t));
  for (const std::size_t i : {0, 5, 17, 23, 39}) {
    const FlowLanes one({{systems[i].get(), {}}}, {});
    const auto alone = one.drivers();
    for (const double t : {2.0, 20.0}) alone[0]->advance(t);
    CHECK(numbers(*alone[0]) == numbers(*drivers[i]));
    CHECK(alone[0]->statistics().evaluations == drivers[i]->statistics().evaluations);
    CHECK(alone[0]->statistics().rejected == drivers[i]->statistics().rejected);
    REQUIRE(alone[0]->events().size() == drivers[i]->events().size());
    for (std::size_t event = 0; event < alone[0]->events().size(); ++event)
      CHECK(alone[0]->events()[event].time == drivers[i]->events()[event].time);
  }
}

TEST_CASE("records in lanes change no step, and have the same bits alone", "[fast][flow][lanes]") {
  const std::string method = GENERATE(as<std::string>{}, "dopri5", "fehlberg78", "verner8");
  INFO(method);
  const std::vector<std::unique_ptr<const Markov>> systems = many(false);
  const FlowDriver::Options options{.method = method};
  std::vector<double> times(101);
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = 0.2 * static_cast<double>(i);
  const auto targets = [&](std::size_t i) { return std::span(times).subspan(i); };

  FlowLanes lanes = lanes_of(systems, options), ends = lanes_of(systems, options);
  const auto drivers = lanes.drivers();
  ends.advance(std::vector<double>(systems.size(), times.back()));
  std::vector<std::vector<double>> recorded(systems.size());
  for (std::size_t save = 0; save < times.size(); ++save) {
    lanes.advance(std::vector<std::span<const double>>(systems.size(), targets(save)));
    for (std::size_t i = 0; i < systems.size(); ++i) {
      REQUIRE(drivers[i]->advance(targets(save)).kind == Outcome::Kind::reached);
      CHECK(drivers[i]->time() == times[save]);
      recorded[i].push_back(drivers[i]->state()[0]);
    }
  }
  for (std::size_t i = 0; i < systems.size(); ++i) {
    CHECK(numbers(*drivers[i]) == numbers(*ends.drivers()[i]));
    CHECK(drivers[i]->statistics().accepted == ends.drivers()[i]->statistics().accepted);
  }

  for (const std::size_t i : {0, 5, 17}) {
    Workers workers(1);
    FlowDriver scalar(*systems[i], workers, options);
    auto alone = std::move(FlowLanes({{systems[i].get(), options}}, {}).drivers()[0]);
    std::int64_t steps = 0;
    for (std::size_t save = 0; save < times.size(); ++save) {
      alone->advance(targets(save));
      CHECK(alone->state()[0] == recorded[i][save]);
      scalar.advance(targets(save));
      CHECK(std::abs(scalar.state()[0] - recorded[i][save]) < 1e-7);
      steps += alone->interval().number;
      if (save % 7 != 3) continue;
      // Continues from a checkpoint, with the records since.
      const ResumePoint point = alone->resume_point();
      auto resumed = std::move(FlowLanes({{systems[i].get(), options}}, {}).drivers()[0]);
      resumed->restore(*point.x, *point.regime, point.t, point.data);
      for (std::size_t again = save + 1 - point.targets_after; again <= save; ++again)
        resumed->advance(targets(again));
      CHECK(numbers(*resumed) == numbers(*alone));
      CHECK(resumed->interval().number == alone->interval().number);
      alone = std::move(resumed);
    }
    CHECK(numbers(*alone) == numbers(*drivers[i]));
    CHECK(steps == alone->statistics().accepted);
  }
}

TEST_CASE("a flow in lanes converges with its tolerance", "[fast][flow][lanes]") {
  const std::string method = GENERATE(as<std::string>{}, "dopri5", "fehlberg78", "verner8");
  const Markov system = optimal({0.2, 0.3}, 0.6, 0.4);
  const Run exact(system, 20, {.rtol = 1e-13, .atol = 1e-15});
  std::vector<double> tolerances, errors;
  for (const double rtol : {1e-5, 1e-6, 1e-7, 1e-8, 1e-9}) {
    const FlowLanes one({{&system, {.method = method, .rtol = rtol, .atol = rtol / 100}}}, {});
    const auto driver = std::move(one.drivers()[0]);
    driver->advance(20);
    tolerances.push_back(rtol);
    errors.push_back(std::abs(driver->state()[0] - exact.x[0]));
  }
  const double slope = popflow::test::log_log_slope(tolerances, errors);
  INFO(method << ": " << errors[0] << " ... " << errors.back());
  CHECK(slope > 0.7);
  CHECK(slope < 1.3);
}

TEST_CASE("flows in lanes resume bit for bit, between targets too", "[fast][flow][lanes]") {
  const std::string method = GENERATE(as<std::string>{}, "dopri5", "fehlberg78", "verner8");
  INFO(method);
  // The tolerance gives enough steps to interrupt the run between targets.
  const double rtol = method == "dopri5" ? 1e-8 : 1e-13;
  const FlowDriver::Options options{.method = method, .rtol = rtol, .atol = rtol / 100};
  const Markov system = optimal({0.2, 0.3}, 0.2, -0.4);
  const FlowLanes whole({{&system, options}}, {});
  const auto expected = std::move(whole.drivers()[0]);
  for (const double t : {5.0, 200.0}) expected->advance(t);

  int asked = 0;
  const FlowLanes first({{&system, options}}, [&] { return ++asked > 2; });
  const auto stopped = std::move(first.drivers()[0]);
  CHECK(stopped->advance(5).kind == Outcome::Kind::reached);
  CHECK(stopped->advance(200).kind == Outcome::Kind::interrupted);
  CHECK(stopped->time() < 200);
  const ResumePoint point = stopped->resume_point();
  const FlowLanes second({{&system, options}}, {});
  const auto resumed = std::move(second.drivers()[0]);
  resumed->restore(*point.x, *point.regime, point.t, point.data);
  resumed->advance(200);
  CHECK(numbers(*resumed) == numbers(*expected));
  CHECK(resumed->events().size() == expected->events().size());
  CHECK(resumed->statistics().evaluations == expected->statistics().evaluations);
}

TEST_CASE("flows in lanes end at the step limit like single flows", "[fast][flow][lanes]") {
  const std::vector<std::unique_ptr<const Markov>> systems = many(false);
  FlowLanes lanes = lanes_of(systems, {.max_steps = 12});
  lanes.advance(std::vector<double>(systems.size(), 50));
  const auto drivers = lanes.drivers();
  for (std::size_t i = 0; i < systems.size(); ++i) {
    const Run run(*systems[i], 50, {.max_steps = 12});
    CHECK(drivers[i]->advance(50).kind == run.how);
    CHECK(drivers[i]->time() == Approx(run.driver.time()).epsilon(1e-6));
  }
}

TEST_CASE("each flow in lanes uses its own error norm", "[fast][flow][lanes]") {
  std::vector<std::unique_ptr<const Markov>> systems;
  std::vector<FlowLanes::Flow> flows;
  for (int i = 0; i < 40; ++i) {
    systems.emplace_back(new Markov(optimal({0.2, 0.3}, 0.1 + 0.1 * (i / 2), 0.3)));
    flows.push_back(
        {systems.back().get(), {.error_norm = i % 2 == 0 ? ErrorNorm::rms : ErrorNorm::largest}});
  }
  FlowLanes lanes(flows, {});
  lanes.advance(std::vector<double>(systems.size(), 30));
  const auto drivers = lanes.drivers();
  for (std::size_t i = 0; i < systems.size(); ++i) {
    INFO("flow " << i);
    REQUIRE(drivers[i]->advance(30).kind == Outcome::Kind::reached);
    const Run alone(*systems[i], 30, flows[i].options);
    const std::int64_t accepted = drivers[i]->statistics().accepted;
    CHECK(std::abs(static_cast<double>(accepted - alone.driver.statistics().accepted)) <= 1);
    // Lanes 2k and 2k + 1 have the same start.
    if (i % 2 == 1) CHECK(accepted > drivers[i - 1]->statistics().accepted);
  }
}

namespace {

/// dx/dt = -x
class Decay : public Small {
 public:
  Decay() : Small({1}) {}
  void rhs(StateView x, double, std::span<double> dxdt) const override { dxdt[0] = -x[0]; }
  [[nodiscard]] const LaneFormulas& lane_formulas() const override {
    static const LaneFormulas formulas{
        {0, 1}, [](const LaneSizes&, const double*, const double* x, double* dxdt) {
          for (std::size_t l = 0; l < kLanes; ++l) dxdt[l] = -x[l];
        }};
    return formulas;
  }
};

/// Takes a step of length h in all lanes and returns one lane's step for dense output.
std::unique_ptr<StepWithin> step_in_lane(const FlowMethod& method, const Decay& system,
                                         const Tolerance& tolerance, double h) {
  const auto lanes = method.make_lanes(system.lane_formulas(), ErrorNorm::largest);
  LaneRows all(1);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    lanes->x.at(0, lane) = 1;
    lanes->h.at(0, lane) = h;
    lanes->tolerance.at(0, lane) = lanes->tolerance.at(1, lane) = 1;
    all.at(0, lane) = 1;
  }
  lanes->begin(all.data());
  lanes->attempt();
  auto within =
      std::make_unique<StepWithin>(method, 1, lanes->stages(), lanes->first_same_as_last());
  lanes->x.read(2, within->x);
  lanes->x_new.read(2, within->x_new);
  lanes->read_stages(2, within->slopes);
  within->begin(system, tolerance, false, 0, h);
  return within;
}

}  // namespace

TEST_CASE("dense output in lanes is as accurate as the step", "[fast][flow][lanes]") {
  const Decay system;
  for (const FlowMethod& method : flow_methods()) {
    if (!method.has_lanes()) continue;
    std::vector<double> lengths, errors;
    for (const double h : {0.8, 0.6, 0.4, 0.3}) {
      const Tolerance tolerance(system.shape().blocks, 0, 1e-7 * std::pow(h, 8));
      const auto within = step_in_lane(method, system, tolerance, h);
      CHECK(within->x_new[0] == Approx(std::exp(-h)).epsilon(1e-3 * std::pow(h, 6)));
      double worst = 0;
      for (const double part : {0.1, 0.3, 0.5, 0.85})
        worst = std::max(worst, std::abs(within->at(part)[0] - std::exp(-part * h)));
      lengths.push_back(h);
      errors.push_back(worst);
      if (method.order == 8) CHECK(worst < 4 * tolerance.atol());
    }
    if (method.order == 8) continue;  // the tolerance determines its error
    const double order = popflow::test::log_log_slope(lengths, errors);
    INFO(method.name << ": " << errors[0] << " ... " << errors.back());
    CHECK(order > method.order + 0.5);
  }
}

TEST_CASE("steps in lanes too long for dense output are divided", "[fast][flow][lanes]") {
  const Decay system;
  const Tolerance tolerance(system.shape().blocks, 0, 1e-11);
  const auto within = step_in_lane(flow_method("fehlberg78"), system, tolerance, 3);
  // Compares with shorter steps of the method, which are divided further until the tolerance bounds
  // their error.
  for (const double part : {0.1, 0.5, 0.9})
    CHECK(within->at(part)[0] == Approx(std::exp(-part * 3)).epsilon(0).margin(1e-9));
}

TEST_CASE("the interpolant of Dormand and Prince's method has the bits of odeint's",
          "[fast][flow][lanes]") {
  using Number = std::array<double, 1>;
  boost::numeric::odeint::runge_kutta_dopri5<Number> method;
  const Number x = {0.4};
  constexpr double kStep = 0.7;
  std::vector<double> slopes;
  const auto slope = [&](const Number& at, Number& dxdt, double t) {
    dxdt[0] = std::cos(t) - at[0] * at[0];
    slopes.push_back(dxdt[0]);
  };
  Number first, last, x_new;
  slope(x, first, 0);
  method.do_step(std::ref(slope), x, first, 0.0, x_new, last, kStep);
  REQUIRE(slopes.size() == dopri5::kStages);
  for (const double part : {0.0, 0.2, 0.5, 0.8, 1.0}) {
    const double time = part * kStep;
    Number expected;
    method.calc_state(time, expected, x, first, 0.0, x_new, last, kStep);
    const std::array<double, 6> weights = dopri5::interpolant_weights(time / kStep);
    double state = x[0];
    for (std::size_t i = 0; i < weights.size(); ++i)
      state += kStep * weights[i] * slopes[dopri5::kInterpolantStages[i]];
    CHECK(state == expected[0]);
  }
}

TEST_CASE("a blow-up in lanes is found at its time", "[fast][flow][lanes]") {
  // The solutions blow up at t = 1 and t = 2.
  const BlowUp first(1), second(0.5), bounded(-1);
  FlowLanes lanes({{&first, {}}, {&second, {}}, {&bounded, {}}}, {});
  lanes.advance(std::vector<double>{3, 3, 3});
  const auto drivers = lanes.drivers();
  for (const std::size_t i : {0, 1}) {
    const Outcome outcome = drivers[i]->advance(3);
    CHECK(outcome.kind == Outcome::Kind::diverged);
    CHECK(outcome.diverged_at == Approx(i == 0 ? 1 : 2).epsilon(1e-6));
    FlowDriver alone(i == 0 ? first : second, pool(), {});
    CHECK(alone.advance(3).message.substr(0, 20) == outcome.message.substr(0, 20));
  }
  CHECK(drivers[2]->advance(3).kind == Outcome::Kind::reached);
  CHECK(drivers[2]->state()[0] == Approx(-0.25).epsilon(1e-7));
}

/// dx/dt = -sqrt(x) for the second of two entries; the first one is constant.
class Leak : public Small {
 public:
  Leak() : Small({1, 1}) {}
  void rhs(StateView x, double, std::span<double> dxdt) const override {
    dxdt[0] = 0;
    dxdt[1] = -std::sqrt(x[1]);
  }
  [[nodiscard]] const LaneFormulas& lane_formulas() const override {
    static const LaneFormulas formulas{
        {0, 2}, [](const LaneSizes&, const double*, const double* x, double* dxdt) {
          for (std::size_t l = 0; l < kLanes; ++l) dxdt[l] = 0;
          for (std::size_t l = kLanes; l < 2 * kLanes; ++l) dxdt[l] = -std::sqrt(x[l]);
        }};
    return formulas;
  }
};

TEST_CASE("a message names the entry with a non-finite right-hand side in lanes, too",
          "[fast][flow][lanes]") {
  const Leak leak;
  FlowLanes lanes({{&leak, {}}}, {});
  lanes.advance(std::vector<double>{3});
  const Outcome outcome = lanes.drivers()[0]->advance(3);
  CHECK(outcome.kind == Outcome::Kind::diverged);
  CHECK(outcome.diverged_at == Approx(2).epsilon(1e-6));
  CHECK_THAT(outcome.message, Catch::EndsWith("; the right-hand side of x[1] is NaN soon after"));
}

TEST_CASE("lanes find the extremum that is prominent enough", "[fast][flow][lanes]") {
  // x = a e^(t/10) cos t. A minimum counts if it lies 0.001 below the next maximum. At a = 2e-4 the
  // second minimum is the first to count, at 4e-4 the first one, and at 1e-4 none. At the last
  // amplitude, 1.00001e-3 / rise, the first minimum is 0.001 below the exact next maximum, but not
  // below the ends of steps.
  const double turn = std::atan(kGrowth);
  const double rise =
      std::cos(turn) * (std::exp(kGrowth * (turn + 2 * M_PI)) + std::exp(kGrowth * (turn + M_PI)));
  std::vector<std::unique_ptr<const Swell>> systems;
  std::vector<FlowLanes::Flow> flows;
  for (const double start : {2e-4, 4e-4, 1e-4, 1.00001e-3 / rise}) {
    systems.push_back(std::make_unique<const Swell>(start));
    flows.push_back({systems.back().get(), {}});
  }
  FlowLanes lanes(flows, {});
  lanes.advance(std::vector<double>(4, 13));
  const auto drivers = lanes.drivers();
  for (const std::size_t i : {0, 1, 2, 3}) {
    FlowDriver alone(*systems[i], pool(), {});
    CHECK(alone.advance(13).kind == Outcome::Kind::reached);
    REQUIRE(drivers[i]->events().size() == (i != 2 ? 1 : 0));
    REQUIRE(alone.events().size() == drivers[i]->events().size());
    if (i == 2) continue;
    const double minimum = turn + (i == 0 ? 3 : 1) * M_PI;
    CHECK(drivers[i]->events()[0].time == Approx(minimum).epsilon(1e-7));
    CHECK(alone.events()[0].time == Approx(minimum).epsilon(1e-7));
  }
}

TEST_CASE("in lanes, functions must be negative before they cross zero upwards",
          "[fast][flow][lanes]") {
  const popflow::test::Clock clock(true);
  FlowLanes lanes({{&clock, {.max_step = 0.05}}, {&clock, {.max_step = 0.07}}}, {});
  const auto drivers = lanes.drivers();
  // Several targets: lanes are loaded again between fall and rise.
  for (const double target : {0.2, 0.4, 0.6, 1.0}) lanes.advance(std::vector(2, target));
  for (const auto& driver : drivers) {
    const auto& events = driver->events();
    REQUIRE(events.size() == 5);
    for (const FoundEvent& event : events)
      CHECK(event.time == Approx(clock.kCrossings[event.event]).margin(1e-7));
    for (std::size_t item = 0; item < 6; ++item) {
      if (item == 1)
        CHECK(std::isnan(driver->passages()[item]));
      else
        CHECK(driver->passages()[item] == Approx(clock.kCrossings[item]).margin(1e-7));
    }
  }
}
