#include <algorithm>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>

#include "dynamics/joma/clock.hpp"
#include "flow/flow_lanes.hpp"
#include "popflow/flow_driver.hpp"
#include "popflow/parameter.hpp"
#include "support/catch.hpp"
#include "support/joma_reference.hpp"

// Tokens that jump: they get from 8 tau to their targets within the rounding of t.

using namespace popflow;
using namespace popflow::joma;
using namespace popflow::joma::test;

namespace {

constexpr double kStart = 0.05;

/// Time at which the token passes 90% of its target. The clock gives the time until the token's
/// rate is held constant.
double exact_time(double mu, double tau) {
  Attention attention;
  attention.temperature = tau;
  const Line line{kStart, mu - kStart, 0};
  const double s = std::log((mu - kStart) / (0.1 * mu));
  const double held = 27 + kStart * kStart * attention.inverse();
  const double held_from = tau * std::sqrt(2 * held);
  const double free = mu > held_from ? std::log((mu - kStart) / (mu - held_from)) : s;
  return clock_of(attention, line, std::min(s, free)) + std::max(0.0, s - free) * std::exp(-held);
}

struct Jumps : Case {
  explicit Jumps(int tokens = 10, double tau = 1, std::vector<std::string> more = {},
                 const std::string& target_max = "20")
      : Case([&] {
          std::vector<std::string> words = {"--activation",  "nonlinear",  "--target-max",
                                            target_max,      "--tokens",   std::to_string(tokens),
                                            "--temperature", shortest(tau)};
          words.insert(words.end(), more.begin(), more.end());
          return words;
        }()),
        temperature(tau) {}

  /// Returns the largest relative error of a token's first-passage time.
  [[nodiscard]] double error(const Driver& driver) const {
    double worst = 0;
    for (Eigen::Index l = 0; l < flow.goal.cols(); ++l) {
      const double exact = exact_time(flow.goal(0, l), temperature);
      const double found = driver.passages()[static_cast<std::size_t>(l)];
      worst = std::isfinite(found) ? std::max(worst, std::abs(found / exact - 1)) : INFINITY;
    }
    return worst;
  }
  double temperature;
};

FlowDriver::Options within(double rtol, const std::string& method = "dopri5") {
  return {.method = method, .rtol = rtol, .atol = rtol / 100, .max_steps = 100'000};
}

/// State, times, events and step counts of a driver. Evaluations are left out, since a flow resumed
/// in lanes takes one more.
std::vector<double> told(const Driver& driver) {
  const StepStatistics counts = driver.statistics();
  std::vector<double> all(driver.state().begin(), driver.state().end());
  all.insert(all.end(), {driver.time(), static_cast<double>(counts.accepted),
                         static_cast<double>(counts.rejected)});
  all.insert(all.end(), driver.passages().begin(), driver.passages().end());
  for (const FoundEvent& event : driver.events()) all.push_back(event.time);
  return all;
}

}  // namespace

TEST_CASE("Jumps within the rounding of t are resolved at any tolerance", "[fast][joma][flow]") {
  const Jumps jumps;
  for (const std::string method : {"dopri5", "fehlberg78", "bulirsch_stoer", "rosenbrock4"})
    for (const double rtol : {1e-8, 1e-10, 1e-12}) {
      if (method == "rosenbrock4" && rtol < 1e-10) continue;  // tens of thousands of steps
      // bulirsch_stoer finds first-passage times with a polynomial through nine points of its long
      // steps.
      const double reading = method == "bulirsch_stoer" ? 3e-7 : 0;
      INFO(method << " to " << rtol);
      FlowDriver driver(*jumps.system, const_cast<Workers&>(jumps.workers), within(rtol, method));
      const Outcome outcome = driver.advance(jumps.end);
      INFO(outcome.message);
      CHECK(outcome.kind == Outcome::Kind::reached);
      CHECK(jumps.error(driver) < 3 * rtol + reading);
    }
}

TEST_CASE("Jumps in one block do not shorten the steps of other blocks", "[fast][joma][flow]") {
  for (const char* target_max : {"20", "8", "6"}) {
    INFO("targets up to " << target_max);
    double evaluations[2];
    for (const int more : {0, 1}) {
      const Jumps jumps(more ? 1000 : 200, 1, {"--problem-seed", "3"}, target_max);
      FlowDriver driver(*jumps.system, const_cast<Workers&>(jumps.workers), within(1e-10));
      REQUIRE(driver.advance(jumps.end).kind == Outcome::Kind::reached);
      CHECK(jumps.error(driver) < 1e-9);
      // Blocks take few steps once the entropy's minimum is found.
      CHECK(driver.statistics().accepted < 600);
      CHECK(driver.statistics().rejected < 60);
      evaluations[more] = static_cast<double>(driver.statistics().evaluations);
    }
    // The work per token does not depend on the number of tokens.
    CHECK(evaluations[1] < 1.1 * evaluations[0]);
    CHECK(evaluations[1] < 60'000);
  }
}

TEST_CASE("A held rate changes the time of a jump by less than 4e-12 mu/tau, relatively",
          "[fast][joma]") {
  Attention attention;
  for (const double mu : {8.2, 10.0, 20.0, 1e3, 5e3}) {
    const double s = std::log((mu - kStart) / (0.1 * mu));
    const double free = clock_of(attention, {kStart, mu - kStart, 0}, s);
    INFO("mu = " << mu);
    CHECK(std::abs(exact_time(mu, 1) / free - 1) < 4e-12 * mu);
    if (mu > 100) CHECK(exact_time(mu, 1) / free - 1 > 3e-12 * mu);
  }
}

TEST_CASE("Tokens jump at the right time from any start", "[fast][joma][flow][lanes]") {
  // Tokens that start at several tau or more spend much or all of their time where rates exceed
  // e^27.
  for (const double start : {5.0, 6.0, 8.0, 12.0, 14.0, -3.0, -9.0}) {
    INFO("from " << start << " tau to 20 tau");
    const Case made({"--activation", "nonlinear", "--target-min", "20", "--target-max", "20",
                     "--tokens", "2", "--init", shortest(start)});
    // Clock at 90% of the target, scaled by its slowest rate.
    const double slowest = start > 0 ? start : 0;
    const double exact =
        std::exp(-slowest * slowest / 2) *
        boost::math::quadrature::gauss_kronrod<double, 61>::integrate(
            [&](double u) { return std::exp((slowest * slowest - u * u) / 2) / (20 - u); }, start,
            18.0, 15, 1e-13);
    const std::vector<FlowLanes::Flow> one = {{made.system.get(), within(1e-10)}};
    FlowLanes lanes(one, {});
    lanes.advance(std::vector<double>{made.end});
    const std::unique_ptr<Driver> in_lanes = std::move(lanes.drivers()[0]);
    FlowDriver alone(*made.system, const_cast<Workers&>(made.workers), within(1e-10));
    for (Driver* driver : {in_lanes.get(), static_cast<Driver*>(&alone)}) {
      CHECK(driver->advance(made.end).kind == Outcome::Kind::reached);
      CHECK(driver->passages().size() == 2);
      for (const double passage : driver->passages())
        CHECK(passage / exact == Approx(1).epsilon(1e-9));
    }
  }
}

TEST_CASE("Jumps are resolved in lanes as in single flows", "[fast][joma][flow][lanes]") {
  std::vector<std::unique_ptr<Jumps>> problems;
  for (int i = 0; i < 20; ++i)
    problems.push_back(std::make_unique<Jumps>(
        10, 1 + 0.04 * i, std::vector<std::string>{"--problem-seed", std::to_string(i + 1)},
        i < 10 ? "20" : "400"));
  for (const double rtol : {1e-8, 1e-10, 1e-12}) {
    std::vector<FlowLanes::Flow> flows;
    std::vector<double> ends;
    for (const auto& problem : problems) {
      flows.push_back({problem->system.get(), within(rtol)});
      ends.push_back(problem->end);
    }
    FlowLanes lanes(flows, {});
    lanes.advance(ends);
    for (std::size_t i = 0; i < problems.size(); ++i) {
      INFO("flow " << i << " to " << rtol);
      const auto driver = std::move(lanes.drivers()[i]);
      CHECK(driver->advance(ends[i]).kind == Outcome::Kind::reached);
      CHECK(problems[i]->error(*driver) < 10 * rtol);
    }
  }
}

TEST_CASE("Jumps are resolved in blocks of tokens", "[fast][joma][flow]") {
  const Jumps jumps(260);
  for (const double rtol : {1e-8, 1e-11}) {
    FlowDriver driver(*jumps.system, const_cast<Workers&>(jumps.workers), within(rtol));
    INFO("to " << rtol);
    CHECK(driver.advance(jumps.end).kind == Outcome::Kind::reached);
    CHECK(jumps.error(driver) < 3 * rtol);
  }
}

TEST_CASE("A run that is interrupted within a jump resumes bit for bit",
          "[fast][numbers][joma][flow]") {
  const Jumps jumps(10, 1, {}, "200");
  auto& workers = const_cast<Workers&>(jumps.workers);
  const std::string method = GENERATE("dopri5", "rosenbrock4");
  INFO(method);
  const FlowDriver::Options options = within(method == "rosenbrock4" ? 1e-9 : 1e-12, method);
  std::vector<std::int64_t> unmoved;  // numbers of the steps in which t did not change
  std::int64_t steps = 0;
  double last = 0;
  FlowDriver::Options listening = options;
  listening.hooks.on_step = [&](double t) {
    ++steps;
    if (t == last) unmoved.push_back(steps);
    last = t;
  };
  FlowDriver whole(*jumps.system, workers, listening);
  whole.advance(jumps.end);
  REQUIRE(unmoved.size() > 10);
  std::size_t between = 0;
  for (std::size_t i = 0; i < unmoved.size(); i += unmoved.size() / 10) {
    const std::int64_t cut = unmoved[i];
    std::int64_t asked = 0;
    FlowDriver::Options cut_options = options;
    cut_options.hooks.interrupted = [&] { return asked++ == cut; };
    FlowDriver begun(*jumps.system, workers, cut_options);
    CHECK(begun.advance(jumps.end).kind == Outcome::Kind::interrupted);
    const ResumePoint point = begun.resume_point();
    between += point.data.number("beside_t") != 0 ? 1 : 0;
    FlowDriver resumed(*jumps.system, workers, options);
    resumed.restore(*point.x, *point.regime, point.t, point.data);
    resumed.advance(jumps.end);
    REQUIRE(told(resumed) == told(whole));
  }
  CHECK(between > 9);
}

TEST_CASE("A flow in lanes that is interrupted within a jump resumes bit for bit",
          "[fast][numbers][joma][flow][lanes]") {
  std::size_t between = 0;
  for (int problem = 1; problem <= 8; ++problem) {
    const Jumps jumps(5, 1, {"--problem-seed", std::to_string(problem)}, "200");
    const std::vector<FlowLanes::Flow> flow = {{jumps.system.get(), within(1e-12)}};
    const FlowLanes lanes(flow, {});
    const auto whole = std::move(lanes.drivers()[0]);
    whole->advance(jumps.end);
    for (int cut = 1;; ++cut) {
      int asked = 0;
      const FlowLanes first(flow, [&] { return ++asked > cut; });
      const auto begun = std::move(first.drivers()[0]);
      if (begun->advance(jumps.end).kind != Outcome::Kind::interrupted) break;
      const ResumePoint point = begun->resume_point();
      const bool within_jump = point.data.number("beside_t") != 0;
      between += within_jump ? 1 : 0;
      // Few interruptions fall within a jump; of the others every fourth is tested.
      if (!within_jump && cut % 4 != problem % 4) continue;
      const FlowLanes second(flow, {});
      const auto resumed = std::move(second.drivers()[0]);
      resumed->restore(*point.x, *point.regime, point.t, point.data);
      resumed->advance(jumps.end);
      REQUIRE(told(*resumed) == told(*whole));
    }
  }
  CHECK(between > 0);
}
