// Conditions on an observable that end a run: how they are written, and where flows and noisy runs
// end.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "flow/watched.hpp"
#include "observed/observed_info.hpp"
#include "observed/stop_condition.hpp"
#include "options/methods.hpp"
#include "popflow/error.hpp"
#include "popflow/flow_driver.hpp"
#include "popflow/sgd_driver.hpp"
#include "support/catch.hpp"
#include "support/make_system.hpp"

namespace popflow::test {
namespace {

const SystemInfo& scb_info() { return systems().info("scb"); }

std::string said(const std::string& words) {
  try {
    (void)StopCondition::parse(words, scb_info());
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

bool holds(const std::string& words, double value) {
  return StopCondition::parse(words, scb_info()).function(value) < 0;
}

double value_of(const System& system, const std::string& observable, const Driver& driver) {
  std::vector<double> values(system.info().observables.size());
  system.observe(driver.view(), driver.time(), values);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (system.info().observables[i].name == observable) return values[i];
  return std::nan("");
}

}  // namespace

TEST_CASE("a condition holds for the right values", "[fast][observed]") {
  CHECK(holds("loss < 0.5", 0.4));
  CHECK_FALSE(holds("loss < 0.5", 0.5));
  CHECK_FALSE(holds("loss < 0.5", 0.6));
  CHECK(holds("loss <= 0.5", 0.5));
  CHECK(holds("loss>0.5", 0.6));
  CHECK_FALSE(holds("loss>0.5", 0.5));
  CHECK(holds(" loss  >=  5e-1 ", 0.5));
  CHECK(holds("loss > -1", -0.5));
  CHECK_FALSE(holds("loss < 1", std::nan("")));
  CHECK(StopCondition::parse(" excess_loss<1e-4 ", scb_info()).words == "excess_loss<1e-4");
  for (const char* own : {"steady", "stuck", "either"}) CHECK_FALSE(is_condition(own));
  CHECK(is_condition("loss < 1"));
  CHECK(is_condition("Steady"));
}

TEST_CASE("errors in a condition are reported", "[fast][observed]") {
  const auto says = [](const std::string& words, const std::string& part) {
    INFO(words << ": " << said(words));
    CHECK(said(words).find(part) != std::string::npos);
    CHECK(said(words).find("'" + words + "'") != std::string::npos);
  };
  says("stedy", "did you mean steady?");
  says("loss", "must be steady, stuck, either, or a condition");
  says("loss 0.1", "must be steady, stuck, either, or a condition");
  says("loss == 0.1", "must be steady, stuck, either, or a condition");
  says("los < 0.1", "did you mean loss?");
  says("excess < 0.1", "which scb does not have; observables are ");
  says("V < 0.1", "'V', a field, which has many numbers; observables are ");
  says("loss_minimum < 0.1", "a constant");
  says("fast_phase_end < 3", "an event");
  says("loss < low", "'low' is not a finite number");
  says("loss < 1e-4x", "'1e-4x' is not a finite number");
  says("loss < inf", "'inf' is not a finite number");
  says("loss < nan", "'nan' is not a finite number");
  says("loss <", "no number to compare with");
  says("< 0.1", "has no observable");
  says("0.1 > loss", "the observable comes first");
  says("0 < loss < 1", "more than one comparison");
  says("loss =< 1", "more than one comparison");
  says("loss << 1", "more than one comparison");
}

TEST_CASE("a flow of every method ends where the condition begins to hold", "[fast][observed]") {
  Workers workers(1);
  const std::vector<std::string> words = {"--t-end", "100", "--stop-when", "loss < 0.01"};
  const Made made = make_system(parse("deep-linear", words), workers);
  REQUIRE(stopping(*made.system) != nullptr);
  const auto stopped = [&](const std::string& method, double rtol, double dt) {
    FlowDriver::Options options;
    options.method = method;
    options.rtol = rtol;
    options.atol = 0.01 * rtol;
    if (dt > 0) options.dt = dt;
    FlowDriver driver(*made.system, workers, options);
    Outcome outcome;
    for (double t = 10; t <= 100 && outcome.kind == Outcome::Kind::reached; t += 10)
      outcome = driver.advance(t);
    INFO(method << ": " << outcome.message);
    CHECK(outcome.kind == Outcome::Kind::stopped);
    CHECK(outcome.message.find(": loss < 0.01") != std::string::npos);
    const double value = value_of(*made.system, "loss", driver);
    CHECK(value < 0.01);
    CHECK(value > 0.01 * (1 - 1e-6));
    CHECK(driver.time() == outcome.time);
    return outcome.time;
  };
  const double exact = stopped("verner8", 1e-13, 0);
  for (const std::string& method : methods_of("flow")) {
    const bool fixed = find_method(method)->steps == StepRule::fixed;
    const double t = stopped(method, 1e-8, fixed ? 1e-3 : 0);
    INFO(method << " stops at " << t << ", exactly at " << exact);
    // Euler's error is of the order of its step.
    CHECK(std::abs(t / exact - 1) < (method == "euler" ? 5e-3 : 1e-6));
  }
}

TEST_CASE("a run that satisfies its condition at the start ends there", "[fast][observed]") {
  Workers workers(1);
  const Made made = make_system(parse("deep-linear", {"--stop-when", "loss > 0"}), workers);
  FlowDriver flow(*made.system, workers, {});
  CHECK(flow.advance(0).kind == Outcome::Kind::stopped);
  CHECK(flow.time() == 0);
  SgdDriver sgd(*made.system, workers, {});
  CHECK(sgd.advance(1).kind == Outcome::Kind::stopped);
  CHECK(sgd.time() == 0);
}

TEST_CASE("a sampled run ends after the first step that satisfies the condition",
          "[fast][observed]") {
  Workers workers(1);
  const std::vector<std::string> plain = {"--mode", "sgd", "--t-end", "100"};
  std::vector<std::string> words = plain;
  words.insert(words.end(), {"--stop-when", "loss <= 0.5"});
  const Made all = make_system(parse("deep-linear", plain), workers);
  const Made some = make_system(parse("deep-linear", words), workers);
  SgdDriver free(*all.system, workers, {}), ends(*some.system, workers, {});
  const Outcome outcome = ends.advance(100);
  CHECK(outcome.kind == Outcome::Kind::stopped);
  double before = std::numeric_limits<double>::infinity();
  for (double t = 0; t < outcome.time - 0.005; t += 0.01) {
    before = value_of(*all.system, "loss", free);
    CHECK(before > 0.5);
    (void)free.advance(t + 0.01);
  }
  CHECK(free.time() == ends.time());
  CHECK(std::ranges::equal(free.state(), ends.state()));
  CHECK(value_of(*some.system, "loss", ends) <= 0.5);
}

TEST_CASE("figures show only recorded observables", "[fast][observed]") {
  const SystemInfo& info = systems().info("markov");
  REQUIRE(info.figure ==
          "loss at entropy_rate stationary_entropy; prob_0to1 prob_1to0 at p q; e over w");
  CHECK(with_observables(info, {"loss"}).figure ==
        "loss at entropy_rate stationary_entropy; e over w");
  CHECK(with_observables(info, {"prob_1to0"}).figure == "prob_1to0 at p q; e over w");
  CHECK(with_observables(info, {"prob_1to0"}).observables.size() == 1);
  std::vector<std::string> all;
  for (const ObservableInfo& one : info.observables) all.push_back(one.name);
  CHECK(with_observables(info, all).figure == info.figure);
}

}  // namespace popflow::test
