#include <cmath>

#include "popflow/flow_driver.hpp"
#include "support/catch.hpp"
#include "support/joma_reference.hpp"

// Events of the attention's entropy.

using namespace popflow;
using namespace popflow::joma;
using namespace popflow::joma::test;

namespace {

std::vector<std::string> with(std::vector<std::string> words,
                              const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

const std::vector<std::vector<std::string>> kVariants = {
    {"--attention", "exp"},
    {"--attention", "softmax"},
    {"--attention", "linear"},
    {"--attention", "linear", "--offset", "0.4"},
    {"--attention", "linear", "--temperature", "1e-6"},
    {"--attention", "exp", "--nodes", "3", "--temperature", "1.3"},
    {"--attention", "softmax", "--coordinates", "full"}};

std::vector<double> event_values(const Case& made, const std::vector<double>& x) {
  std::vector<double> values(2);
  made.joma().event_functions(x, 0, values);
  return values;
}

/// d entropy/dt along the flow, by central differences of the entropy's definition.
double entropy_rate(const Case& made, const std::vector<double>& x) {
  const Eigen::MatrixXd v = made.v(x);
  const Eigen::MatrixXd rate = made.flow.derivative(v);
  const auto at = [&](double h) { return made.flow.entropy(v + h * rate); };
  const double h = 1e-3 / rate.cwiseAbs().maxCoeff();
  return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
}

// Narrow tolerances make the rates at events accurate.
const FlowDriver::Options kTight{.rtol = 1e-12, .atol = 1e-14};

std::vector<FoundEvent> events_of(const Case& made, double end) {
  FlowDriver driver(*made.system, const_cast<Workers&>(made.workers), kTight);
  REQUIRE(driver.advance(end).kind == Outcome::Kind::reached);
  return driver.events();
}

}  // namespace

TEST_CASE("The event functions have the sign of d entropy/dt, and are proportional to it",
          "[fast][joma]") {
  for (const auto& variant : kVariants) {
    for (const char* activation : {"linear", "nonlinear"}) {
      const Case made(
          with(variant, {"--activation", activation, "--target-min", "-2", "--init", "0.3"}));
      INFO(variant[1] << " " << activation);
      RandomStream random(11, Purpose::test);
      double ratio = 0;
      for (int draw = 0; draw < 20; ++draw) {
        std::vector<double> x = made.start();
        for (double& entry : x) entry += 0.8 * random.uniform();
        const double rate = entropy_rate(made, x);
        if (std::abs(rate) < 1e-6) continue;
        const std::vector<double> values = event_values(made, x);
        CHECK((values[1] > 0) == (rate > 0));
        CHECK((values[0] > 0) == (rate < 0));
        // Softmax divides by the sum, so the unit is the largest attention.
        const Eigen::VectorXd b = made.flow.weights(made.v(x));
        ratio = values[1] * b.maxCoeff() / rate;
        CHECK(ratio == Approx(1).epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("With targets the entropy falls and rises, and the event is its minimum",
          "[fast][joma]") {
  for (const auto& variant : kVariants) {
    INFO(variant[1]);
    const Case made(with(variant, {"--activation", "nonlinear"}));
    const auto found = events_of(made, made.end);
    REQUIRE(found.size() == 2);
    CHECK(found[0].event == 0);
    CHECK(found[0].time < 1e-12);
    CHECK(found[1].event == 1);
    const double t = found[1].time;
    REQUIRE(t > 0);
    // At the event the derivative vanishes, and the entropy is larger on both sides.
    FlowDriver driver(*made.system, const_cast<Workers&>(made.workers), kTight);
    double entropy[3];
    double rate[3];
    for (int i = 0; i < 3; ++i) {
      REQUIRE(driver.advance(t * (0.99 + 0.01 * i)).kind == Outcome::Kind::reached);
      const std::vector<double> x(driver.state().begin(), driver.state().end());
      entropy[i] = made.seen(x, "attention_entropy");
      rate[i] = entropy_rate(made, x);
    }
    CHECK(std::abs(rate[1]) < 1e-4 * std::min(std::abs(rate[0]), std::abs(rate[2])));
    CHECK(rate[0] < 0);
    CHECK(rate[2] > 0);
    CHECK(entropy[0] > entropy[1]);
    CHECK(entropy[2] > entropy[1]);
    CHECK(entropy[1] < 0.99 * std::log(10.0));
  }
}

TEST_CASE("Blocks don't step over a minimum of the entropy that is soon followed by another",
          "[fast][joma][flow]") {
  // Each token may cause a minimum when it comes to its target. Here such a minimum is deeper than
  // 0.001, and comes 1% of the time (8% with softmax) before the lowest one.
  struct Shallow {
    const char *attention, *tokens, *seed;
  };
  for (const Shallow& shallow : {Shallow{"exp", "600", "6"},
                                 {"exp", "600", "25"},
                                 {"softmax", "300", "1"},
                                 {"softmax", "300", "3"}}) {
    INFO(shallow.attention << " " << shallow.seed);
    const Case made({"--activation", "nonlinear", "--attention", shallow.attention, "--tokens",
                     shallow.tokens, "--target-min", "-4", "--problem-seed", shallow.seed});
    REQUIRE(made.system->capabilities().separable);
    const auto minimum = [&](double tolerance) {
      FlowDriver driver(*made.system, const_cast<Workers&>(made.workers),
                        {.rtol = tolerance, .atol = 0.01 * tolerance});
      REQUIRE(driver.advance(0.25 * made.end).kind == Outcome::Kind::reached);
      REQUIRE(driver.events().size() == 2);
      return driver.events()[1].time;
    };
    CHECK(minimum(1e-8) == Approx(minimum(1e-12)).epsilon(1e-7));
  }
}

TEST_CASE("A minimum of the entropy is found although it ends within one step",
          "[fast][joma][flow]") {
  // The minimum is 0.003 deep. After three steps of the fastest tokens only 0.0007 of the depth is
  // left.
  const std::vector<std::string> words = {"--activation",  "nonlinear", "--attention",    "exp",
                                          "--tokens",      "816",       "--nodes",        "2",
                                          "--init",        "-0.3",      "--target-max",   "4",
                                          "--temperature", "1.5",       "--problem-seed", "42"};
  const Case made(words);
  for (const char* method : {"dopri5", "fehlberg78", "bulirsch_stoer"}) {
    INFO(method);
    FlowDriver driver(*made.system, const_cast<Workers&>(made.workers), {.method = method});
    REQUIRE(driver.advance(1).kind == Outcome::Kind::reached);
    REQUIRE(driver.events().size() == 2);
    CHECK(driver.events()[1].time == Approx(0.5393463).epsilon(1e-6));
  }
}

TEST_CASE("With drives of one sign and equal small starts the entropy only falls", "[fast][joma]") {
  for (const char* attention : {"exp", "softmax", "linear"}) {
    for (const char* seed : {"1", "2", "3"}) {
      const Case made({"--attention", attention, "--problem-seed", seed});
      const auto found = events_of(made, made.end);
      REQUIRE(found.size() == 1);
      CHECK(found[0].event == 0);
      CHECK(found[0].time == 0);
    }
  }
}

TEST_CASE("From a start against the drives the entropy falls and rises again", "[fast][joma]") {
  // All v rise to 0, the fastest first. Beyond 0 the fastest token gains attention again.
  const Case made({"--target-min", "0.5", "--target-max", "2", "--init", "-1"});
  const auto found = events_of(made, made.end);
  REQUIRE(found.size() == 2);
  CHECK(found[1].event == 1);
}

TEST_CASE("An entropy that rises first has its minimum after its fall", "[fast][joma]") {
  // One token sits near its small target with most attention. Two others come up from below (the
  // entropy rises). One of them passes the first token (it falls), and the other one follows (it
  // rises again).
  Problem problem;
  problem.has_target = true;
  problem.goal.resize(1, 3);
  problem.goal << 0.6, 4, 3.9;
  Start start;
  start.standard = false;
  start.v0.resize(1, 3);
  start.v0 << 0.55, 0.2, 0.2;
  start.ahead = problem.goal - start.v0;
  Workers workers(1);
  const Joma joma(problem, {}, start, true, workers);
  const auto entropy = [&](double t) {
    FlowDriver driver(joma, workers, {});
    REQUIRE(driver.advance(t).kind == Outcome::Kind::reached);
    std::vector<double> values(5);
    joma.observe(driver.state(), 0, values);
    return values[0];
  };
  FlowDriver driver(joma, workers, {});
  REQUIRE(driver.advance(3).kind == Outcome::Kind::reached);
  REQUIRE(driver.events().size() == 2);
  CHECK(driver.events()[0].event == 0);
  CHECK(driver.events()[1].event == 1);
  const double falls = driver.events()[0].time;
  const double lowest = driver.events()[1].time;
  REQUIRE(falls > 1e-2);
  REQUIRE(lowest > falls);
  CHECK(entropy(0.9 * falls) < entropy(falls));
  CHECK(entropy(1.1 * falls) < entropy(falls));
  CHECK(entropy(lowest - 1e-4) > entropy(lowest));
  CHECK(entropy(lowest + 1e-4) > entropy(lowest));
}

TEST_CASE("One token has no events, and neither have equal tokens", "[fast][joma]") {
  for (const char* tokens : {"1", "6"}) {
    for (const char* activation : {"linear", "nonlinear"}) {
      const Case made({"--tokens", tokens, "--activation", activation, "--target-min", "2",
                       "--target-max", "2"});
      CHECK(events_of(made, made.end).empty());
    }
  }
}
