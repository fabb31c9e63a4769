#include <algorithm>
#include <cmath>
#include <numeric>

#include "popflow/flow_driver.hpp"
#include "support/catch.hpp"
#include "support/joma_reference.hpp"
#include "support/slopes.hpp"

// Right-hand sides against the definition, and reduced coordinates against v.

using namespace popflow;
using namespace popflow::joma;
using namespace popflow::joma::test;

namespace {

struct Variant {
  std::string attention, activation;
  int nodes;
};

std::vector<Variant> all_variants() {
  std::vector<Variant> all;
  for (const char* attention : {"exp", "softmax", "linear"})
    for (const char* activation : {"linear", "nonlinear"})
      for (const int nodes : {1, 3}) all.push_back({attention, activation, nodes});
  return all;
}

std::vector<std::string> words(const Variant& variant, const std::string& coordinates,
                               const std::string& seed = "1") {
  return {"--attention",    variant.attention,
          "--activation",   variant.activation,
          "--nodes",        std::to_string(variant.nodes),
          "--tokens",       "6",
          "--target-min",   "-1.5",
          "--target-max",   "2",
          "--temperature",  "0.8",
          "--offset",       "0.3",
          "--init",         "0.1",
          "--problem-seed", seed,
          "--coordinates",  coordinates};
}

std::string describe(const Variant& variant) {
  return variant.attention + " " + variant.activation + " nodes " + std::to_string(variant.nodes);
}

double difference(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) {
  return (a - b).cwiseAbs().maxCoeff() / b.cwiseAbs().maxCoeff();
}

/// Velocity of v at a state by the chain rule: differences of v along the state's velocity.
Eigen::MatrixXd velocity(const Case& made, const std::vector<double>& x) {
  const std::vector<double> rate = made.rhs(x, 0);
  const auto at = [&](double h) {
    std::vector<double> moved = x;
    for (std::size_t i = 0; i < x.size(); ++i) moved[i] += h * rate[i];
    return made.v(moved);
  };
  const double h = 1e-4;
  return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
}

}  // namespace

TEST_CASE("v has the definition's velocity at any state", "[fast][joma]") {
  for (const Variant& variant : all_variants()) {
    for (const char* coordinates : {"full", "reduced"}) {
      for (const char* seed : {"1", "2", "3"}) {
        INFO(describe(variant) << ", " << coordinates << ", seed " << seed);
        const Case made(words(variant, coordinates, seed));
        RandomStream random(7, Purpose::test);
        for (const double size : {0.0, 0.1, 0.7}) {
          std::vector<double> x = made.start();
          for (double& entry : x) entry += size * random.uniform();
          CHECK(difference(velocity(made, x), made.flow.derivative(made.v(x))) < 1e-10);
        }
      }
    }
  }
}

TEST_CASE("All entries start at --init in any coordinates", "[fast][joma]") {
  for (const Variant& variant : all_variants()) {
    for (const char* coordinates : {"full", "reduced"}) {
      const Case made(words(variant, coordinates));
      CHECK((made.v(made.start()).array() - 0.1).abs().maxCoeff() < 1e-15);
    }
  }
}

TEST_CASE("Reduced coordinates follow the same trajectory as full ones", "[fast][joma]") {
  for (const Variant& variant : all_variants()) {
    INFO(describe(variant));
    const Case full(words(variant, "full"));
    const Case reduced(words(variant, "reduced"));
    REQUIRE(reduced.system->shape().state_size() == 6);
    REQUIRE(full.end == Approx(reduced.end));
    FlowDriver::Options tight{.rtol = 1e-12, .atol = 1e-14};
    FlowDriver a(*full.system, const_cast<Workers&>(full.workers), tight);
    FlowDriver b(*reduced.system, const_cast<Workers&>(reduced.workers), tight);
    for (const double part : {0.1, 0.4, 0.8}) {
      const double t = part * full.end;
      REQUIRE(a.advance(t).kind == Outcome::Kind::reached);
      REQUIRE(b.advance(t).kind == Outcome::Kind::reached);
      CHECK(difference(reduced.v(b.state()), full.v(a.state())) < 1e-9);
      for (const char* name : {"attention_entropy", "learned_min", "learned_max"}) {
        const double value = full.seen(a.state(), name);
        if (std::isnan(value)) continue;
        CHECK(reduced.seen(b.state(), name) == Approx(value).epsilon(1e-8));
      }
    }
    REQUIRE(a.passages().size() == b.passages().size());
    for (std::size_t i = 0; i < a.passages().size(); ++i) {
      CHECK(std::isnan(a.passages()[i]) == std::isnan(b.passages()[i]));
      if (!std::isnan(a.passages()[i]))
        CHECK(a.passages()[i] == Approx(b.passages()[i]).epsilon(1e-6));
    }
  }
}

TEST_CASE("An Euler step in full coordinates is a gradient step on v", "[fast][joma]") {
  const double dt = 0.02;
  for (const Variant& variant : all_variants()) {
    INFO(describe(variant));
    const Case made(words(variant, "full"));
    FlowDriver driver(*made.system, const_cast<Workers&>(made.workers),
                      {.method = "euler", .dt = dt});
    Eigen::MatrixXd v = made.v(made.start());
    for (int step = 0; step < 5; ++step) v += dt * made.flow.derivative(v);
    REQUIRE(driver.advance(5 * dt).kind == Outcome::Kind::reached);
    CHECK(difference(made.v(driver.state()), v) < 1e-13);
  }
}

TEST_CASE("The observables of joma agree with their definitions", "[fast][joma]") {
  for (const Variant& variant : all_variants()) {
    for (const char* coordinates : {"full", "reduced"}) {
      INFO(describe(variant) << ", " << coordinates);
      const Case made(words(variant, coordinates));
      RandomStream random(3, Purpose::test);
      std::vector<double> x = made.start();
      for (double& entry : x) entry += random.uniform();
      const Eigen::MatrixXd v = made.v(x);
      const double entropy = made.flow.entropy(v);
      CHECK(made.seen(x, "attention_entropy") == Approx(entropy).epsilon(1e-13));
      CHECK(made.seen(x, "effective_tokens") == Approx(std::exp(entropy)).epsilon(1e-13));
      const Eigen::ArrayXXd learned = v.array() / made.flow.goal.array();
      const bool target = variant.activation == "nonlinear";
      CHECK(std::isnan(made.seen(x, "learned_min")) == !target);
      if (target) CHECK(made.seen(x, "learned_min") == Approx(learned.minCoeff()));
      if (target) CHECK(made.seen(x, "learned_max") == Approx(learned.maxCoeff()));
    }
  }
}

TEST_CASE("The entropy is accurate when one token has nearly all attention", "[fast][joma]") {
  // Two tokens at v = 0 and 12 tau: p = e^-72 for the first one, and H = p (1 + 72) to first order.
  const Case made({"--tokens", "2", "--init", "0", "--target-min", "1", "--target-max", "1",
                   "--attention", "softmax"});
  const double p = std::exp(-72.0);
  CHECK(made.seen(std::vector<double>{0.0, 12.0}, "attention_entropy") ==
        Approx(73 * p).epsilon(1e-12).margin(0));
}

TEST_CASE("Softmax over many pieces is right, with the same bits on any number of threads",
          "[fast][joma]") {
  const std::vector<std::string> words = {"--tokens",     "50000",     "--attention",   "softmax",
                                          "--activation", "nonlinear", "--temperature", "0.3"};
  const Case one(words, 1);
  const Case three(words, 3);
  std::vector<double> x = one.start();
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += 1e-4 * static_cast<double>(i % 1000);
  const std::vector<double> rate = one.rhs(x, 0);
  CHECK(rate == three.rhs(x, 0));
  const Eigen::VectorXd expected = one.flow.weights(one.v(x));
  for (std::size_t i = 0; i < x.size(); ++i)
    if (std::abs(rate[i] / expected[static_cast<Eigen::Index>(i)] - 1) > 1e-12) FAIL(i);
}

TEST_CASE("Under linear attention without an offset tokens at 0 stay at 0", "[fast][joma]") {
  for (const char* coordinates : {"full", "reduced"}) {
    const Case made({"--attention", "linear", "--init", "0", "--activation", "nonlinear",
                     "--coordinates", coordinates});
    const auto x = made.start();
    for (const double rate : made.rhs(x, 0)) CHECK(rate == 0);
    Eigen::MatrixXd j(x.size(), x.size());
    std::vector<double> time(x.size());
    made.joma().jacobian(x, 0, j, time);
    CHECK(j.allFinite());
    CHECK(std::isnan(made.seen(x, "attention_entropy")));
    CHECK(std::isnan(made.seen(x, "clock_spread")));
    CHECK(made.system->notes().size() == 1);
    CHECK(std::isfinite(made.end));
  }
}

TEST_CASE("A note says that tokens cannot pass 0 under linear attention without an offset",
          "[fast][joma]") {
  const auto notes = [](std::vector<std::string> words) {
    words.insert(words.end(), {"--attention", "linear"});
    return Case(words).system->notes();
  };
  for (const char* activation : {"linear", "nonlinear"}) {
    const std::vector<std::string> through = {"--init", "-1", "--activation", activation};
    REQUIRE(notes(through).size() == 1);
    CHECK_THAT(notes(through)[0].text,
               Catch::Contains("10 tokens are drawn towards the other side of 0"));
    CHECK(notes(through)[0].warning);
    std::vector<std::string> with_offset = through;
    with_offset.insert(with_offset.end(), {"--offset", "1e-9"});
    CHECK(notes(with_offset).empty());
    CHECK(notes({"--activation", activation}).empty());
  }
  // The targets are above the start but do not lie beyond 0.
  CHECK(notes({"--activation", "nonlinear", "--init", "-3", "--target-min", "-2", "--target-max",
               "-1"})
            .empty());
}

TEST_CASE("joma: tokens are sorted by their distance to the target on any number of threads",
          "[fast][joma]") {
  for (const unsigned threads : {1U, 3U}) {
    INFO("threads: " << threads);
    const Case made({"--activation", "nonlinear", "--attention", "exp", "--tokens", "150001"},
                    threads);
    const std::span<const std::size_t> order = made.system->capabilities().separable->part_order();
    const Eigen::MatrixXd way = made.joma().data().goal - made.v(made.start());
    std::vector<std::size_t> wanted(150001);
    std::iota(wanted.begin(), wanted.end(), std::size_t{0});
    std::stable_sort(wanted.begin(), wanted.end(), [&](std::size_t a, std::size_t b) {
      return std::abs(way(0, static_cast<Eigen::Index>(a))) <
             std::abs(way(0, static_cast<Eigen::Index>(b)));
    });
    CHECK(std::equal(order.begin(), order.end(), wanted.begin(), wanted.end()));
  }
}

TEST_CASE("joma: softmax integrated in the time of exponential attention follows the original flow",
          "[fast][joma][flow]") {
  const auto words = [](const std::string& coordinates, const std::string& most) {
    return std::vector<std::string>{
        "--activation",  "nonlinear", "--attention",  "softmax", "--tokens",       "600",
        "--target-min",  "-1.5",      "--target-max", most,      "--init",         "0.1",
        "--coordinates", coordinates, "--offset",     "0.3",     "--problem-seed", "4"};
  };
  const Case full(words("full", "2"));
  const Case reduced(words("reduced", "2"));
  REQUIRE(reduced.system->capabilities().separable);
  REQUIRE(reduced.system->capabilities().separable->normalised());
  const FlowDriver::Options tight{.rtol = 1e-10, .atol = 1e-12};
  FlowDriver a(*full.system, const_cast<Workers&>(full.workers), tight);
  FlowDriver b(*reduced.system, const_cast<Workers&>(reduced.workers), tight);
  for (const double t : {3.0, 400.0, 1500.0, 4000.0}) {
    REQUIRE(a.advance(t).kind == Outcome::Kind::reached);
    REQUIRE(b.advance(t).kind == Outcome::Kind::reached);
    CHECK(difference(reduced.v(b.state()), full.v(a.state())) < 1e-8);
    // The attention weights sum to 1.
    CHECK(std::accumulate(b.state().begin(), b.state().end(), 0.0) == Approx(t).epsilon(1e-12));
  }
  int passed = 0;
  for (std::size_t i = 0; i < a.passages().size(); ++i) {
    if (std::isnan(a.passages()[i]) || std::isnan(b.passages()[i])) continue;
    ++passed;
    REQUIRE(b.passages()[i] == Approx(a.passages()[i]).epsilon(2e-9));
  }
  CHECK(passed > 300);
  REQUIRE(b.events().size() == 2);
  REQUIRE(a.events().size() == 2);
  for (const std::size_t event : {0, 1})
    CHECK(b.events()[event].time == Approx(a.events()[event].time).epsilon(1e-8));

  // Problems with jumps or with drives are integrated in the original time.
  CHECK_FALSE(Case(words("reduced", "9")).system->capabilities().separable);
  CHECK_FALSE(Case({"--attention", "softmax"}).system->capabilities().separable);
}

TEST_CASE("joma: an offset has no effect on softmax attention, also in blocks",
          "[fast][joma][flow]") {
  const auto end = [](const std::string& offset) {
    const Case made({"--activation", "nonlinear", "--attention", "softmax", "--tokens", "300",
                     "--offset", offset});
    FlowDriver driver(*made.system, const_cast<Workers&>(made.workers), {.max_steps = 100});
    CHECK(driver.advance(made.end).kind == Outcome::Kind::reached);
    return std::pair{driver.passages(), made.v(driver.state())};
  };
  const auto without = end("0");
  CHECK(end("-600") == without);
  CHECK(end("800") == without);
}

TEST_CASE("joma: blocks are integrated over the shortest intervals that doubles represent",
          "[fast][joma][flow]") {
  for (const char* attention : {"exp", "softmax"})
    for (const double end : {1e-290, 1e-300, 1e-307}) {
      INFO(attention << " until " << end);
      const Case made({"--activation", "nonlinear", "--attention", attention, "--tokens", "300"});
      REQUIRE(made.system->capabilities().separable);
      FlowDriver driver(*made.system, const_cast<Workers&>(made.workers), {});
      const std::vector<double> start = made.start();
      const std::vector<double> rate = made.rhs(start, 0);
      for (const int half : {1, 2}) {
        REQUIRE(driver.advance(0.5 * half * end).kind == Outcome::Kind::reached);
        for (std::size_t l = 0; l < rate.size(); ++l)
          CHECK(driver.state()[l] == Approx(0.5 * half * end * rate[l]).epsilon(1e-12));
      }
    }
}
