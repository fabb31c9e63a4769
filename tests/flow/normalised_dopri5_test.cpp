// Integration in blocks of a state whose entries affect each other through one sum only. In a
// rescaled time s they do not affect each other.

#include "flow/normalised_dopri5.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "popflow/flow_driver.hpp"
#include "support/catch.hpp"
#include "support/decades.hpp"

namespace popflow::test {
namespace {

constexpr std::size_t kSharers = 2000;  // seven full blocks and a partial one
constexpr double kLevel = 1.5;
constexpr std::size_t kWatched = 3;

/// x_i' = g_i / sum_j g_j with g_i = rate_i exp(-x_i), from 0. In the rescaled time s, x_i = log(1
/// + rate_i s) and t = sum_i x_i. The event is one entry reaching 1.
class Sharers : public Decades {
 public:
  explicit Sharers(bool in_blocks, double lost_at = INFINITY)
      : Decades({.entries = kSharers,
                 .slowest = 1,
                 .level = kLevel,
                 .event = {.name = "one", .meaning = "an entry reaches 1"},
                 .in_blocks = in_blocks}),
        lost_at_(lost_at) {}

  [[nodiscard]] bool normalised() const override { return true; }
  void rhs(StateView x, double t, std::span<double> dxdt) const override {
    Decades::rhs(x, t, dxdt);
    const double sum = std::accumulate(dxdt.begin(), dxdt.end(), 0.0);
    for (double& one : dxdt) one /= sum;
  }
  void event_functions(StateView x, double /*t*/, std::span<double> values) const override {
    values[0] = x[kWatched] - 1;
  }

  [[nodiscard]] double exact(std::size_t i, double own) const { return std::log1p(rate(i) * own); }
  [[nodiscard]] double time(double own) const {
    double sum = 0;
    for (std::size_t i = 0; i < kSharers; ++i) sum += exact(i, own);
    return sum;
  }
  /// Times at which entry i equals x: the rescaled time and t.
  [[nodiscard]] double own(std::size_t i, double x) const { return std::expm1(x) / rate(i); }
  [[nodiscard]] double when(std::size_t i, double x) const { return time(own(i, x)); }

 private:
  // Slope of an entry in the rescaled time; the slope of entry 500 is NaN beyond a position.
  [[nodiscard]] double slope(std::size_t i, double x, double /*t*/) const override {
    return i == 500 && x > lost_at_ ? NAN : rate(i) * std::exp(-x);
  }
  double lost_at_;
};

constexpr double kOwnEnd = 1;

FlowDriver::Options accurate_to(double rtol) { return {.rtol = rtol, .atol = rtol / 100}; }

TEST_CASE("blocks in rescaled time follow the exact solution", "[fast][flow]") {
  const Sharers apart(true), together(false);
  REQUIRE(NormalisedDopri5::suits(apart));
  REQUIRE_FALSE(NormalisedDopri5::suits(together));
  Workers workers(2);
  const double end = apart.time(kOwnEnd);
  double last_state = INFINITY;
  double last_passages = INFINITY;
  for (const double rtol : {1e-5, 1e-7, 1e-9, 1e-11}) {
    CAPTURE(rtol);
    FlowDriver driver(apart, workers, accurate_to(rtol));
    FlowDriver odeint(together, workers, accurate_to(rtol));
    for (FlowDriver* one : {&driver, &odeint})
      REQUIRE(one->advance(end).kind == Outcome::Kind::reached);
    double state = 0;
    double passages = 0;
    double sum = 0;
    for (std::size_t i = 0; i < kSharers; ++i) {
      sum += driver.state()[i];
      state = std::max(state, std::abs(driver.state()[i] - apart.exact(i, kOwnEnd)));
      const double when = apart.when(i, kLevel);
      if (when < 0.999 * end)
        passages = std::max(passages, std::abs(driver.passages()[i] / when - 1));
      else if (when > 1.001 * end)
        CHECK(std::isnan(driver.passages()[i]));
    }
    CHECK(sum == Approx(end).epsilon(1e-13));
    CHECK(state < 10 * rtol);
    CHECK(passages < 10 * rtol);     // dense output has one order less than steps
    CHECK(state < last_state / 10);  // the tolerance has fallen by a factor of 100
    CHECK(passages < last_passages / 10);
    last_state = state;
    last_passages = passages;
    if (rtol < 1e-10) CHECK(driver.statistics().evaluations < odeint.statistics().evaluations);
    REQUIRE(driver.events().size() == 1);
    CHECK(driver.events()[0].time == Approx(apart.when(kWatched, 1)).epsilon(2 * rtol));
  }
}

TEST_CASE("blocks in rescaled time reach any target time", "[fast][flow]") {
  const Sharers system(true);
  Workers workers(2);
  FlowDriver driver(system, workers, accurate_to(1e-9));
  for (const double own : {1e-12, 1e-6, 1.1e-6, 1e-3, 0.002, 0.00200001, 0.5, 100.0}) {
    CAPTURE(own);
    REQUIRE(driver.advance(system.time(own)).kind == Outcome::Kind::reached);
    CHECK(driver.time() == system.time(own));
    for (const std::size_t i : {std::size_t{0}, std::size_t{77}, kSharers - 1})
      CHECK(driver.state()[i] == Approx(system.exact(i, own)).epsilon(1e-7).margin(1e-10));
  }
  for (std::size_t i = 0; i < kSharers; ++i)
    REQUIRE(driver.passages()[i] == Approx(system.when(i, kLevel)).epsilon(1e-8));
}

TEST_CASE("first-passage times are found where a block's end time is corrected", "[fast][flow]") {
  // Save times shortly after and shortly before passages.
  const Sharers system(true);
  Workers workers(1);
  std::vector<double> times;
  for (std::size_t i = 0; i < kSharers; i += 40)
    for (const double offset : {-1e-6, 0.0, 1e-12, 1e-6})
      times.push_back(system.when(i, kLevel) * (1 + offset));
  std::sort(times.begin(), times.end());
  FlowDriver driver(system, workers, accurate_to(1e-9));
  for (const double t : times) REQUIRE(driver.advance(t).kind == Outcome::Kind::reached);
  for (std::size_t i = 0; i < kSharers; ++i)
    if (system.when(i, kLevel) < 0.999 * times.back())
      REQUIRE(driver.passages()[i] == Approx(system.when(i, kLevel)).epsilon(2e-8));
}

TEST_CASE("a first-passage time is found within the correction of an end time", "[fast][flow]") {
  const Sharers system(true);
  Workers workers(2);
  const Regime regime;
  Rhs rhs(system, regime);
  const Tolerance tolerance(system.shape().blocks, 1e-10, 1e-12);
  Passages passages(system, system.capabilities().events);
  State x(kSharers), x_new(kSharers);
  system.start(x);
  passages.start({x, regime}, 0);
  RescaledTime clock;
  BlockSteps blocks(rhs, system, tolerance, workers, passages);
  blocks.set(clock);

  const double own = system.own(kWatched, kLevel);
  const double before = own * (1 - 1e-5);
  const double behind = own * (1 + 1e-5);
  const auto found = [&] {
    return std::find_if(blocks.passed().begin(), blocks.passed().end(),
                        [](const Passed& one) { return one.item == kWatched; });
  };
  REQUIRE(std::isinf(blocks.follow(x, 0, before, {256}, x_new).covered));
  REQUIRE(found() == blocks.passed().end());
  CHECK(clock.elapsed(before) == Approx(system.time(before)).epsilon(1e-9));
  blocks.nudge(before, system.time(behind) - clock.elapsed(before), x_new);
  REQUIRE(found() != blocks.passed().end());
  CHECK(found()->t == Approx(own).epsilon(1e-9));
  CHECK(x_new[kWatched] == Approx(system.exact(kWatched, behind)).epsilon(1e-9));
  CHECK(std::accumulate(x_new.begin(), x_new.end(), 0.0) ==
        Approx(system.time(behind)).epsilon(1e-13));
}

TEST_CASE("blocks in rescaled time have the same bits on any number of threads, and after resuming",
          "[fast][flow]") {
  const Sharers system(true);
  const std::vector<double> targets = {system.time(1e-4), system.time(0.1), system.time(3)};
  const auto result = [&](const FlowDriver& driver) {
    std::vector<double> numbers(driver.state().begin(), driver.state().end());
    for (const double time : driver.passages()) numbers.push_back(std::isnan(time) ? -1 : time);
    numbers.push_back(driver.events().at(0).time);
    numbers.push_back(static_cast<double>(driver.statistics().evaluations));
    return numbers;
  };
  std::vector<std::vector<double>> results;
  for (const unsigned threads : {1U, 2U, 5U}) {
    Workers workers(threads);
    FlowDriver driver(system, workers, {});
    for (const double t : targets) REQUIRE(driver.advance(t).kind == Outcome::Kind::reached);
    results.push_back(result(driver));
  }
  CHECK(results[0] == results[1]);
  CHECK(results[0] == results[2]);

  Workers workers(1);
  for (const int stop : {2, 5, 9}) {
    CAPTURE(stop);
    int looks = 0;
    FlowDriver first(system, workers, {.hooks = {.interrupted = [&] { return ++looks > stop; }}});
    Outcome::Kind kind = Outcome::Kind::reached;
    for (const double t : targets)
      if (kind == Outcome::Kind::reached) kind = first.advance(t).kind;
    REQUIRE(kind == Outcome::Kind::interrupted);
    const ResumePoint point = first.resume_point();
    FlowDriver second(system, workers, {});
    second.restore(*point.x, *point.regime, point.t, point.data);
    for (const double t : targets)
      if (second.time() < t) REQUIRE(second.advance(t).kind == Outcome::Kind::reached);
    CHECK(result(second) == results[0]);
  }
}

TEST_CASE("a non-finite slope in a block ends the flow at its time, in rescaled time as well",
          "[fast][flow]") {
  const Sharers system(true, 2.0);
  Workers workers(1);
  FlowDriver driver(system, workers, {});
  const Outcome outcome = driver.advance(system.time(1e3));
  CHECK(outcome.kind == Outcome::Kind::diverged);
  CHECK(outcome.time == Approx(system.when(500, 2.0)));
}

}  // namespace
}  // namespace popflow::test
