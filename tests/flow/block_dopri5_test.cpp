// Integration of a state whose entries do not affect each other: each block has its own steps.

#include "flow/block_dopri5.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "popflow/flow_driver.hpp"
#include "support/catch.hpp"
#include "support/decades.hpp"

namespace popflow::test {
namespace {

constexpr std::size_t kEntries = 3000;  // eleven full blocks and a partial one

/// x_i' = rate_i (1 - x_i) cos(t / 20) from 0: x_i reaches one half when 20 sin(t / 20) = log 2 /
/// rate_i. The event is the sum reaching half of its limit.
class Relaxations : public Decades {
 public:
  explicit Relaxations(bool separable, double at_jump = INFINITY)
      : Decades(
            {.entries = kEntries,
             .slowest = 0.01,
             .level = 0.5,
             .event = {.name = "half_of_the_sum", .meaning = "the sum reaches half of its limit"},
             .in_blocks = separable}),
        jump_(at_jump) {}

  void event_functions(StateView x, double /*t*/, std::span<double> values) const override {
    values[0] = std::accumulate(x.begin(), x.end(), 0.0) - 0.5 * kEntries;
  }

  [[nodiscard]] double exact(std::size_t i, double t) const {
    return -std::expm1(-rate(i) * way(t));
  }
  /// Returns the time at which entry i reaches one half.
  [[nodiscard]] double halfway(std::size_t i) const {
    return kPeriod * std::asin(std::min(1.0, std::log(2.0) / rate(i) / kPeriod));
  }

 private:
  static constexpr double kPeriod = 20;
  static double way(double t) { return kPeriod * std::sin(t / kPeriod); }
  // Slope of an entry; the slope of entry 500 is NaN after a time.
  [[nodiscard]] double slope(std::size_t i, double x, double t) const override {
    return i == 500 && t > jump_ ? NAN : rate(i) * (1 - x) * std::cos(t / kPeriod);
  }
  double jump_;
};

struct Errors {
  double state = 0, passages = 0;
};

Errors errors(const Relaxations& system, const FlowDriver& driver, double t) {
  Errors worst;
  for (std::size_t i = 0; i < kEntries; ++i) {
    worst.state = std::max(worst.state, std::abs(driver.state()[i] - system.exact(i, t)));
    const double halfway = system.halfway(i);
    if (halfway > 0.999 * t) continue;
    worst.passages = std::max(worst.passages, std::abs(driver.passages()[i] / halfway - 1));
  }
  return worst;
}

FlowDriver::Options within(double rtol) { return {.rtol = rtol, .atol = rtol / 100}; }

TEST_CASE("blocks with their own steps follow the exact solution with fewer right-hand sides",
          "[fast][flow]") {
  const Relaxations apart(true), together(false);
  REQUIRE(BlockDopri5::suits(apart));
  REQUIRE_FALSE(BlockDopri5::suits(together));
  Workers workers(2);
  constexpr double kEnd = 20;
  double last = INFINITY;
  for (const double rtol : {1e-5, 1e-7, 1e-9, 1e-11}) {
    CAPTURE(rtol);
    FlowDriver driver(apart, workers, within(rtol));
    FlowDriver odeint(together, workers, within(rtol));
    for (FlowDriver* one : {&driver, &odeint})
      REQUIRE(one->advance(kEnd).kind == Outcome::Kind::reached);
    const Errors ours = errors(apart, driver, kEnd);
    CHECK(ours.state < rtol);
    CHECK(ours.passages < rtol);
    CHECK(ours.state < last / 10);  // the tolerance has fallen by a factor of 100
    last = ours.state;
    // The fastest block alone needs as many steps as odeint takes for all blocks.
    CHECK(3 * driver.statistics().evaluations < 2 * odeint.statistics().evaluations);
    REQUIRE(driver.events().size() == 1);
    REQUIRE(odeint.events().size() == 1);
    CHECK(driver.events()[0].time == Approx(odeint.events()[0].time).epsilon(2 * rtol));
  }
}

TEST_CASE("blocks with their own steps have the same bits on any number of threads",
          "[fast][flow]") {
  const Relaxations system(true);
  std::vector<std::vector<double>> results;
  for (const unsigned threads : {1U, 2U, 5U}) {
    Workers workers(threads);
    FlowDriver driver(system, workers, {});
    for (const double t : {0.5, 20.0}) REQUIRE(driver.advance(t).kind == Outcome::Kind::reached);
    std::vector<double>& result =
        results.emplace_back(driver.state().begin(), driver.state().end());
    for (const double time : driver.passages()) result.push_back(std::isnan(time) ? -1 : time);
    result.push_back(driver.events().at(0).time);
    result.push_back(static_cast<double>(driver.statistics().evaluations));
  }
  CHECK(results[0] == results[1]);
  CHECK(results[0] == results[2]);
}

TEST_CASE("blocks with their own steps resume bit for bit after any interruption", "[fast][flow]") {
  const Relaxations system(true);
  Workers workers(1);
  FlowDriver whole(system, workers, {});
  for (const double t : {0.5, 20.0}) REQUIRE(whole.advance(t).kind == Outcome::Kind::reached);
  for (const int stop : {3, 8, 15}) {
    CAPTURE(stop);
    int looks = 0;
    FlowDriver first(system, workers, {.hooks = {.interrupted = [&] { return ++looks > stop; }}});
    Outcome::Kind kind = Outcome::Kind::reached;
    for (const double t : {0.5, 20.0})
      if (kind == Outcome::Kind::reached) kind = first.advance(t).kind;
    REQUIRE(kind == Outcome::Kind::interrupted);
    const ResumePoint point = first.resume_point();
    FlowDriver second(system, workers, {});
    second.restore(*point.x, *point.regime, point.t, point.data);
    for (const double t : {0.5, 20.0})
      if (second.time() < t) REQUIRE(second.advance(t).kind == Outcome::Kind::reached);
    CHECK(std::equal(whole.state().begin(), whole.state().end(), second.state().begin()));
    CHECK(second.events().at(0).time == whole.events().at(0).time);
    CHECK(second.statistics().evaluations == whole.statistics().evaluations);
  }
}

TEST_CASE("a non-finite slope in a block ends the flow at its time", "[fast][flow]") {
  const Relaxations system(true, 3.0);
  Workers workers(1);
  FlowDriver driver(system, workers, {});
  const Outcome outcome = driver.advance(20);
  CHECK(outcome.kind == Outcome::Kind::diverged);
  CHECK(outcome.time == Approx(3.0));
}

TEST_CASE("with the rms error norm all entries share their steps", "[fast][flow]") {
  const Relaxations system(true);
  Workers workers(2);
  FlowDriver driver(system, workers, {.rtol = 1e-9, .error_norm = ErrorNorm::rms});
  REQUIRE(driver.advance(10).kind == Outcome::Kind::reached);
  // A step takes six right-hand sides, and two more if entries pass within it.
  const StepStatistics steps = driver.statistics();
  const std::int64_t tried = steps.accepted + steps.rejected;
  CHECK(steps.evaluations >= 1 + 6 * tried);
  CHECK(steps.evaluations <= 1 + 6 * tried + 2 * steps.accepted);
  CHECK(errors(system, driver, 10).state < 1e-6);
}

}  // namespace
}  // namespace popflow::test
