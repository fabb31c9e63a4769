// An interrupted and resumed run ends with the same bits as a whole run.

#include <cmath>
#include <cstring>
#include <span>

#include "popflow/flow_driver.hpp"
#include "support/catch.hpp"
#include "support/monte_carlo.hpp"
#include "support/toy_systems.hpp"

namespace popflow::test {
namespace {

Toy subject() {
  Toy toy = driven();
  toy.events = {{"first", ""}, {"second", "", "first"}, {"third", ""}};
  toy.event_functions = [](auto x, double t, auto g) {
    g[0] = 1.5 - x[0] * (t < 1 ? 0 : 1);
    g[1] = x[0] - 1;
    g[2] = t - 7.77;
  };
  toy.items = 4;
  toy.passage_functions = [](auto x, double t, auto h) {
    h[0] = x[0] - 1.2;
    h[1] = 0.9 - x[0];
    h[2] = t * x[0] - 8;
    h[3] = 100 - t < 0 ? 1 : -1;  // an event that never happens
  };
  return toy;
}

/// Returns the bits of a driver's complete state.
std::vector<double> all_of(const FlowDriver& driver) {
  std::vector<double> all(driver.state().begin(), driver.state().end());
  const StepStatistics s = driver.statistics();
  const IntervalSteps& i = driver.interval();
  all.insert(all.end(), {driver.time(), static_cast<double>(s.evaluations),
                         static_cast<double>(s.accepted), static_cast<double>(s.rejected),
                         static_cast<double>(i.number), i.smallest, i.largest});
  for (const FoundEvent& event : driver.events())
    all.insert(all.end(), {static_cast<double>(event.event), event.time});
  all.insert(all.end(), driver.passages().begin(), driver.passages().end());
  return all;
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

const std::vector<double> kTargets = {0, 0.5, 3, 3.01, 3.02, 3.25, 9, 20};

/// Advances to a target: one at which steps end, or one of those on the way to the last.
Outcome advance(FlowDriver& driver, std::size_t target, bool within_steps) {
  const std::span<const double> targets = std::span(kTargets).subspan(target);
  return driver.advance(within_steps ? targets : targets.first(1));
}

TEST_CASE("a resumed driver resumes bit for bit", "[fast][flow]") {
  const std::string method =
      GENERATE("dopri5", "fehlberg78", "verner8", "bulirsch_stoer", "rosenbrock4", "rk4", "euler");
  const bool split = GENERATE(false, true);
  const bool steady = GENERATE(false, true);
  const bool within = GENERATE(false, true);
  INFO(method << (split ? ", split" : "") << (steady ? ", looking for a steady state" : "")
              << (within ? ", recorded within steps" : ""));
  Toy toy = subject();
  if (split) toy.proximal = [](auto x, double dt) { x[0] *= 1 - 1e-3 * dt; };
  const ToySystem system(toy);
  Workers workers(1);
  FlowDriver::Options options{.method = method};
  if (split || method == "rk4" || method == "euler") options.dt = 0.07;
  if (steady) options.steady_tolerance = 1e-6;

  FlowDriver whole(system, workers, options);
  std::vector<std::vector<double>> expected;
  for (std::size_t target = 0; target < kTargets.size(); ++target) {
    advance(whole, target, within);
    expected.push_back(all_of(whole));
  }

  // Interrupt after every possible number of steps (under sanitizers after every tenth), and at
  // every target.
  const std::int64_t most = whole.statistics().accepted;
  for (std::int64_t cut = 0; cut <= most; cut += 10 / kOfTen) {
    std::int64_t asked = 0;
    FlowDriver::Options cut_options = options;
    cut_options.hooks.interrupted = [&] { return asked++ == cut; };
    FlowDriver begun(system, workers, cut_options);
    std::size_t next = 0;
    while (next < kTargets.size() && advance(begun, next, within).kind == Outcome::Kind::reached)
      ++next;
    const ResumePoint point = begun.resume_point();
    FlowDriver resumed(system, workers, options);
    resumed.restore(*point.x, *point.regime, point.t, point.data);
    for (next -= point.targets_after; next < kTargets.size(); ++next) {
      REQUIRE(advance(resumed, next, within).kind == Outcome::Kind::reached);
      INFO("cut after " << cut << " steps, at target " << next);
      REQUIRE(same_bits(all_of(resumed), expected[next]));
    }
  }
}

TEST_CASE("a driver that is resumed at a target resumes bit for bit", "[fast][flow]") {
  const std::string method =
      GENERATE("dopri5", "fehlberg78", "verner8", "bulirsch_stoer", "rosenbrock4", "rk4", "euler");
  const bool within = GENERATE(false, true);
  INFO(method << (within ? ", recorded within steps" : ""));
  const ToySystem system(subject());
  Workers workers(1);
  FlowDriver::Options options{.method = method};
  if (method == "rk4" || method == "euler") options.dt = 0.07;
  FlowDriver whole(system, workers, options);
  for (std::size_t cut = 0; cut <= kTargets.size(); ++cut) {
    FlowDriver resumed(system, workers, options);
    const ResumePoint point = whole.resume_point();
    resumed.restore(*point.x, *point.regime, point.t, point.data);
    if (cut == kTargets.size()) break;
    INFO("resumed before target " << cut);
    advance(whole, cut, within);
    for (std::size_t target = cut - point.targets_after; target <= cut; ++target)
      advance(resumed, target, within);
    CHECK(same_bits(all_of(resumed), all_of(whole)));
  }
}

TEST_CASE("resumed runs check conditions at each step", "[fast][flow]") {
  const ToySystem system(subject());
  Workers workers(1);
  FlowDriver whole(system, workers, {});
  whole.advance(kTargets.back());
  CHECK(whole.events().size() == 3);
  for (std::size_t item = 0; item < 3; ++item) CHECK(whole.passages()[item] > 0);
  CHECK(std::isnan(whole.passages()[3]));
}

TEST_CASE("a resume point of another system is refused", "[fast][flow]") {
  const ToySystem system(subject());
  const ToySystem other(oscillator());
  Workers workers(1);
  FlowDriver driver(system, workers, {});
  FlowDriver others(other, workers, {});
  const ResumePoint point = others.resume_point();
  CHECK_THROWS(driver.restore(*point.x, *point.regime, point.t, point.data));
}

}  // namespace
}  // namespace popflow::test
