// The flow driver: reaching targets, and the ways in which a run ends early.

#include "popflow/flow_driver.hpp"

#include <cmath>

#include "popflow/error.hpp"
#include "support/catch.hpp"
#include "support/toy_systems.hpp"

namespace popflow::test {
namespace {

using Kind = Outcome::Kind;

const std::vector<std::string> kAdaptive = {"dopri5", "fehlberg78", "bulirsch_stoer",
                                            "rosenbrock4"};

/// A system with its driver.
struct Run {
  explicit Run(Toy toy, FlowDriver::Options options = {})
      : system(std::move(toy)), driver(system, workers, std::move(options)) {}
  ToySystem system;
  Workers workers{1};
  FlowDriver driver;
};

TEST_CASE("targets are reached exactly with steps of any length", "[fast][flow]") {
  const std::string method =
      GENERATE("dopri5", "fehlberg78", "bulirsch_stoer", "rosenbrock4", "rk4", "euler");
  INFO(method);
  FlowDriver::Options options{.method = method};
  if (method == "rk4" || method == "euler") options.dt = 0.3;
  Run run(decay(), options);
  double before = 1;
  // 1 + 2^-50 differs from 1 by a few roundings; 3 is not a multiple of the step.
  for (const double target : {0.0, 1e-3, 0.1, 0.1, 1.0, 1 + 0x1p-50, 3.0, 10.0}) {
    const Outcome outcome = run.driver.advance(target);
    CHECK(outcome.kind == Kind::reached);
    CHECK(outcome.time == target);
    CHECK(run.driver.time() == target);
    CHECK(run.driver.state()[0] <= before);
    before = run.driver.state()[0];
    if (method != "rk4" && method != "euler")
      CHECK(before == Approx(std::exp(-target)).epsilon(1e-6));
  }
}

TEST_CASE("a fixed step size is constant, except that targets truncate steps", "[fast][flow]") {
  Run run(decay(), {.method = "rk4", .dt = 0.1});
  run.driver.advance(1);  // ten steps of 0.1 miss 1 by rounding
  CHECK(run.driver.interval().number == 10);
  CHECK(run.driver.interval().smallest == Approx(0.1));
  run.driver.advance(1.25);
  CHECK(run.driver.interval().number == 3);
  CHECK(run.driver.interval().smallest == Approx(0.05));
  CHECK(run.driver.interval().largest == 0.1);
  run.driver.advance(1.25);
  CHECK(run.driver.interval().number == 0);
  CHECK(std::isnan(run.driver.interval().smallest));
  const StepStatistics total = run.driver.statistics();
  CHECK(total.accepted == 13);
  CHECK(total.rejected == 0);
  CHECK(total.evaluations == 4 * 13);
}

TEST_CASE("statistics count all work", "[fast][flow]") {
  std::int64_t calls = 0;
  Toy toy = driven();
  const Toy::Function rhs = toy.rhs;
  toy.rhs = [rhs, &calls](auto x, double t, auto out) {
    ++calls;
    rhs(x, t, out);
  };
  const std::string method =
      GENERATE("dopri5", "fehlberg78", "bulirsch_stoer", "rosenbrock4", "rk4", "euler");
  INFO(method);
  std::vector<double> steps;
  double last = 0;
  Run run(
      toy,
      {.method = method, .dt = 1.0, .steady_tolerance = 1e-12, .hooks = {.on_step = [&](double t) {
                                                                 steps.push_back(t - last);
                                                                 last = t;
                                                               }}});
  run.driver.advance(5);
  const std::size_t first = steps.size();
  run.driver.advance(20);
  const StepStatistics total = run.driver.statistics();
  CHECK(total.evaluations == calls);
  CHECK(total.accepted == static_cast<std::int64_t>(steps.size()));
  const IntervalSteps& interval = run.driver.interval();
  CHECK(interval.number == static_cast<std::int64_t>(steps.size() - first));
  CHECK(interval.smallest ==
        Approx(*std::min_element(steps.begin() + static_cast<long>(first), steps.end())));
  CHECK(interval.largest ==
        Approx(*std::max_element(steps.begin() + static_cast<long>(first), steps.end())));
  if (method == "dopri5") CHECK(total.rejected > 0);  // a first step of 1 is too long
}

TEST_CASE("results do not depend on the number of threads", "[fast][flow]") {
  Toy toy;
  toy.start.resize(200'000);  // size of several tasks
  for (std::size_t i = 0; i < toy.start.size(); ++i)
    toy.start[i] = 1 + 1e-5 * static_cast<double>(i % 977);
  toy.rhs = [](auto x, double, auto out) {
    for (std::size_t i = 0; i < x.size(); ++i) out[i] = -x[i] * x[i];
  };
  const ToySystem system(toy);
  const std::string method = GENERATE("dopri5", "fehlberg78", "bulirsch_stoer", "rk4", "euler");
  INFO(method);
  std::vector<std::vector<double>> ends;
  for (const unsigned threads : {1U, 2U, 5U}) {
    Workers workers(threads);
    FlowDriver::Options options{.method = method};
    if (method == "rk4" || method == "euler") options.dt = 0.1;
    FlowDriver driver(system, workers, options);
    driver.advance(1);
    ends.emplace_back(driver.state().begin(), driver.state().end());
  }
  CHECK(ends[0] == ends[1]);
  CHECK(ends[0] == ends[2]);
}

// ---- ways to end

TEST_CASE("a non-finite right-hand side ends the run", "[fast][flow]") {
  const std::string method =
      GENERATE("dopri5", "fehlberg78", "bulirsch_stoer", "rosenbrock4", "rk4", "euler");
  INFO(method);
  FlowDriver::Options options{.method = method};
  if (method == "rk4" || method == "euler") options.dt = 0.01;

  Run late(no_number_after_1(), options);
  const Outcome outcome = late.driver.advance(5);
  CHECK(outcome.kind == Kind::diverged);
  CHECK(outcome.time == late.driver.time());
  CHECK(late.driver.time() == Approx(1).epsilon(options.dt ? 0.011 : 1e-9));
  CHECK(outcome.diverged_at == Approx(1).epsilon(options.dt ? 0.011 : 1e-9));
  CHECK(late.driver.state()[0] == Approx(2.0 / 3).epsilon(0.01));
  CHECK_THAT(outcome.message, Catch::Contains("finite"));

  Run at_once(no_number(), options);
  const Outcome first = at_once.driver.advance(5);
  CHECK(first.kind == Kind::diverged);
  CHECK(first.time == 0);
  CHECK(first.diverged_at == 0);
  CHECK(at_once.driver.state()[0] == 1);
  CHECK(at_once.driver.statistics().accepted == 0);
  CHECK_THAT(first.message, Catch::EndsWith("; the right-hand side of x is NaN there"));
}

TEST_CASE("the message names the entry with a non-finite right-hand side", "[fast][flow]") {
  // The third entry is a tank that leaks until t = 2. It feeds the first one; the second one is
  // independent.
  const double limit =
      GENERATE(std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity());
  Toy tanks;
  tanks.start = {0, 2, 1};
  tanks.rhs = [limit](auto x, double, auto out) {
    out[0] = x[2] - x[0];
    out[1] = -x[1];
    out[2] = x[2] > 0 ? -std::sqrt(x[2]) : limit;
  };
  const std::string method = GENERATE("dopri5", "fehlberg78", "rk4", "euler");
  FlowDriver::Options options{.method = method};
  if (method == "rk4" || method == "euler") options.dt = 0.01;
  INFO(method);
  const Outcome outcome = Run(tanks, options).driver.advance(5);
  CHECK(outcome.kind == Kind::diverged);
  CHECK(outcome.diverged_at == Approx(2).epsilon(0.02));
  const std::string number = std::isnan(limit) ? "NaN" : "infinite";
  // Euler's last step leads to a state where the slope is not finite.
  const std::string where = method == "euler" ? " there" : " soon after";
  CHECK_THAT(outcome.message,
             Catch::EndsWith("; the right-hand side of x[2] is " + number + where));
}

TEST_CASE("a blow-up is located at its time", "[fast][flow]") {
  const std::string method = GENERATE_COPY(from_range(kAdaptive));
  const double start = GENERATE(1e-3, 1.0, 1e3);
  INFO(method << " from " << start);
  Run run(square(start), {.method = method});
  const Outcome outcome = run.driver.advance(1e9);
  CHECK(outcome.kind == Kind::diverged);
  CHECK(outcome.diverged_at == Approx(1 / start).epsilon(1e-6));
  CHECK(std::isfinite(run.driver.state()[0]));
  CHECK(run.driver.state()[0] > 1e3 * start);
  CHECK_THAT(outcome.message, Catch::Contains("without bound"));
}

TEST_CASE("a system with jumps continues within the rounding of t, and other systems end there",
          "[fast][flow]") {
  // x' = e^x up to x = 30, and e^30 beyond. The jump starts at e^-30 before t = 1 and reaches 40
  // after another ten times e^-30.
  static constexpr double kHeld = 30;
  Toy toy = one(0, [](double x, double) { return std::exp(std::min(x, kHeld)); });
  toy.jacobian = [](auto x, double, auto j, auto) { j[0] = x[0] < kHeld ? std::exp(x[0]) : 0; };
  toy.items = 160;
  toy.passage_functions = [](auto x, double, auto values) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = x[0] - 0.25 * static_cast<double>(i + 1);
  };
  toy.events = {{"early", ""}, {"late", "", "early"}, {"held", ""}};
  toy.event_functions = [](auto x, double, auto values) {
    values[0] = x[0] - 28.3;
    values[1] = x[0] - 28.4;
    values[2] = x[0] - 33;
  };
  const std::string method = GENERATE_COPY(from_range(kAdaptive));
  INFO(method);
  // The long first steps of two methods have larger errors. They find first-passage times with
  // polynomials.
  const bool long_steps = method == "fehlberg78" || method == "bulirsch_stoer";
  const double error = long_steps ? 1e-9 : 1e-11;
  const FlowDriver::Options options{.method = method, .rtol = 1e-12, .atol = 1e-14};
  const Outcome without = Run(toy, options).driver.advance(1.5);
  CHECK(without.kind == Kind::diverged);
  CHECK(without.diverged_at == Approx(1).epsilon(error));

  toy.jumps = true;
  Run run(toy, options);
  REQUIRE(run.driver.advance(1.5).kind == Kind::reached);
  CHECK(run.driver.time() == 1.5);
  CHECK(run.driver.state()[0] == Approx(30 + 0.5 * std::exp(30)).epsilon(3 * error));
  CHECK(run.driver.statistics().accepted < 20000);
  const auto exact = [](double x) {
    return x < kHeld ? -std::expm1(-x) : 1 - std::exp(-kHeld) * (1 + kHeld - x);
  };
  double before = 0;
  for (std::size_t i = 0; i < toy.items; ++i) {
    const double time = run.driver.passages()[i];
    INFO("item " << i);
    CHECK(time == Approx(exact(0.25 * static_cast<double>(i + 1))).epsilon(error));
    CHECK(time >= before);
    before = time;
  }
  REQUIRE(run.driver.events().size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(run.driver.events()[i].event == i);
    CHECK(run.driver.events()[i].time ==
          Approx(exact(std::vector{28.3, 28.4, 33.0}[i])).epsilon(error));
  }
}

TEST_CASE("a blow-up so slow that the state stays small is still detected", "[fast][flow]") {
  const std::string method = GENERATE_COPY(from_range(kAdaptive));
  INFO(method);
  Run run(slow_blow_up(), {.method = method});
  const Outcome outcome = run.driver.advance(2);
  CHECK(outcome.kind == Kind::diverged);
  CHECK(outcome.diverged_at == Approx(1).epsilon(1e-6));
  CHECK(run.driver.state()[0] < 10);
}

TEST_CASE("growing solutions end as diverged before a loss overflows", "[fast][flow]") {
  const std::string method =
      GENERATE("dopri5", "fehlberg78", "bulirsch_stoer", "rosenbrock4", "rk4", "euler");
  INFO(method);
  FlowDriver::Options options{.method = method};
  if (method == "rk4" || method == "euler") options.dt = 0.01;
  Run run(growth(), options);
  const Outcome outcome = run.driver.advance(1e4);
  CHECK(outcome.kind == Kind::diverged);
  CHECK(outcome.diverged_at == Approx(std::log(1e70)).epsilon(0.01));
  CHECK(run.driver.state()[0] > 1e69);
  CHECK(run.driver.state()[0] <= 1e70);
}

TEST_CASE("sliding along a discontinuity is underflow of the step size, not divergence",
          "[fast][flow]") {
  // The error estimates of the other methods can vanish across a discontinuity.
  const std::string method = GENERATE("dopri5", "rosenbrock4");
  INFO(method);
  Run run(slide(1e10), {.method = method});
  const Outcome outcome = run.driver.advance(2);
  CHECK(outcome.kind == Kind::underflow);
  CHECK(std::isnan(outcome.diverged_at));
  CHECK(outcome.time == Approx(1).epsilon(1e-9));
  CHECK(run.driver.state()[0] == Approx(1).epsilon(1e-9));
  CHECK_THAT(outcome.message, Catch::Contains("underflow"));
}

TEST_CASE("growth of another entry while sliding is still underflow of the step size",
          "[fast][flow]") {
  Toy toy;
  toy.start = {0, 1};
  toy.rhs = [](auto x, double, auto out) {
    out[0] = x[0] < 1 ? 1 : -1e10;
    out[1] = x[1];
  };
  Run run(toy);
  CHECK(run.driver.advance(2).kind == Kind::underflow);
}

TEST_CASE("the number of steps is limited", "[fast][flow]") {
  const std::string method = GENERATE("dopri5", "rk4");
  INFO(method);
  Run run(oscillator(), {.method = method, .dt = 0.01, .max_steps = 25});
  CHECK(run.driver.advance(0.1).kind == Kind::reached);
  const Outcome outcome = run.driver.advance(1e6);
  CHECK(outcome.kind == Kind::step_limit);
  CHECK(outcome.time == run.driver.time());
  const StepStatistics total = run.driver.statistics();
  CHECK(total.accepted + total.rejected == 25);
  CHECK(run.driver.state()[0] == Approx(std::cos(outcome.time)).margin(1e-6));
  CHECK_THAT(outcome.message, Catch::Contains("25") && Catch::Contains("--max-steps"));
}

TEST_CASE("a run that needs exactly the allowed number of steps reaches its end", "[fast][flow]") {
  Run run(decay(), {.method = "rk4", .dt = 0.1, .max_steps = 10});
  CHECK(run.driver.advance(1).kind == Kind::reached);
}

TEST_CASE("an interruption ends the run before its next step", "[fast][flow]") {
  int asked = 0;
  Run run(oscillator(), {.hooks = {.interrupted = [&asked] { return ++asked > 7; }}});
  const Outcome outcome = run.driver.advance(1e6);
  CHECK(outcome.kind == Kind::interrupted);
  CHECK(run.driver.statistics().accepted == 7);
  CHECK(outcome.time == run.driver.time());
  CHECK(outcome.time < 1e6);
}

// ---- steady states

Outcome until_steady(Toy toy, double tolerance, double end, const std::string& method = "dopri5",
                     double rtol = 1e-8, double atol = 1e-10) {
  Run run(std::move(toy), {.method = method,
                           .rtol = rtol,
                           .atol = atol,
                           .max_steps = 1'000'000,
                           .steady_tolerance = tolerance});
  Outcome outcome;
  for (double target = 100; target <= end; target *= 10) {
    outcome = run.driver.advance(target);
    if (outcome.kind != Kind::reached) break;
  }
  return outcome;
}

TEST_CASE("a steady state ends the run after it has lasted", "[fast][flow]") {
  const std::string method = GENERATE_COPY(from_range(kAdaptive));
  INFO(method);
  // The norm is below 1e-6 from t = 13.8.
  const Outcome fast = until_steady(decay(), 1e-6, 1e6, method);
  CHECK(fast.kind == Kind::steady);
  CHECK(fast.time >= 13.8 + 10);
  CHECK(fast.time < 200);
  // The norm is below 1e-6 from t = 13 800, and must stay there half as long again.
  const Outcome slow = until_steady(decay(1e-3, 1e3), 1e-6, 1e8, method);
  CHECK(slow.kind == Kind::steady);
  CHECK(slow.time >= 1.5 * 13'800);
  CHECK(slow.time < 5 * 13'800);
}

TEST_CASE("a state that never moves is steady", "[fast][flow]") {
  const std::string method = GENERATE_COPY(from_range(kAdaptive));
  INFO(method);
  const Outcome outcome = until_steady(decay(1, 0), 1e-9, 1e6, method);
  CHECK(outcome.kind == Kind::steady);
  CHECK(outcome.time >= 10);
}

TEST_CASE("a steady state is detected with one stiff entry among many", "[fast][flow]") {
  const ErrorNorm norm = GENERATE(ErrorNorm::largest, ErrorNorm::rms);
  Toy toy;
  toy.start = std::vector<double>(2500, 0.0);
  toy.rhs = [](auto x, double, auto out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = (i == 0 ? 50 : 1) * (1 - x[i]);
  };
  Run run(toy, {.error_norm = norm, .max_steps = 100'000, .steady_tolerance = 1e-9});
  const Outcome outcome = run.driver.advance(1000);
  CHECK(outcome.kind == Kind::steady);
  CHECK(outcome.time < 60);
}

TEST_CASE("a steady state is detected in spite of small fluctuations", "[fast][flow]") {
  const std::string method = GENERATE("dopri5", "fehlberg78", "bulirsch_stoer");
  INFO(method);
  // At the stability limit explicit steps make the state fluctuate by the size of the tolerances.
  Toy toy;
  toy.start = {1, 1};
  toy.rhs = [](auto x, double, auto out) {
    out[0] = -(x[0] - 0.3);
    out[1] = -7 * (x[1] + x[0] - 1);
  };
  const Outcome outcome = until_steady(toy, 1e-5, 1e7, method);
  CHECK(outcome.kind == Kind::steady);
  CHECK(outcome.time < 1000);
}

TEST_CASE("a plateau near a saddle is not taken for a steady state", "[fast][flow]") {
  const std::string method = GENERATE("dopri5", "fehlberg78");
  const double start = GENERATE(1e-11, 1e-15, 1e-30);
  INFO(method << " from " << start);
  // From the three starts x' = x - x^3 stays below the tolerance until t = 9, 18 and 53. Then x
  // goes to the steady state 1, or to -1 if a step's error crosses 0.
  Run run(one(start, [](double x, double) { return x - x * x * x; }),
          {.method = method, .rtol = 1e-8, .atol = 1e-10, .steady_tolerance = 1e-7});
  const Outcome outcome = run.driver.advance(1e4);
  CHECK(outcome.kind == Kind::steady);
  CHECK(std::abs(run.driver.state()[0]) == Approx(1).margin(1e-6));
}

TEST_CASE("a plateau that a spiral leaves is not a steady state either", "[fast][flow]") {
  Toy toy;
  toy.start = {1e-14, 0};
  toy.rhs = [](auto x, double, auto out) {
    const double pull = 0.3 * (1 - x[0] * x[0] - x[1] * x[1]);
    out[0] = pull * x[0] - x[1];
    out[1] = pull * x[1] + x[0];
  };
  CHECK(until_steady(toy, 1e-9, 1e4).kind == Kind::reached);
}

TEST_CASE("without a tolerance no steady state is detected", "[fast][flow]") {
  Run run(decay());
  CHECK(run.driver.advance(1e4).kind == Kind::reached);
}

}  // namespace
}  // namespace popflow::test
