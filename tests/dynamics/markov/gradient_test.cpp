#include <cmath>

#include "support/catch.hpp"
#include "support/finite_differences.hpp"
#include "support/markov_fixture.hpp"
#include "support/markov_sampler.hpp"
#include "support/monte_carlo.hpp"

// The right-hand side compared with the loss: its numerical derivative, and means over the four
// pairs of symbols and over drawn sequences.

using namespace popflow;
using namespace popflow::markov;
using namespace popflow::markov::test;
using popflow::test::SampleMean;

namespace {

const std::vector<Eigen::Vector3d> kStates = {
    {0.5, 0.3, 0.2}, {-1.3, 0.6, -0.7}, {0.9, -0.4, 1.1},  {1.7, -0.9, 0.4},
    {0.2, -1.6, 0},  {2.5, 0.1, 2},     {-0.6, -0.72, -3}, {1.1, 0, 0.5}};

/// Step of the differences: w|w| has a kink at 0, where their order is only 1.
double step_at(double w) { return w == 0 ? 1e-6 : 1e-3; }

}  // namespace

TEST_CASE("markov: the flow with a free bias is the negative gradient of the loss",
          "[fast][markov]") {
  for (const PQ& of : kChains) {
    for (const Eigen::Vector3d& at : kStates) {
      INFO("p = " << of.p << ", q = " << of.q << ", at " << at.transpose());
      const Markov system = free_bias(of, at[0], at[1], at[2]);
      const auto loss = [&](const Eigen::VectorXd& x) { return observe(system, x).at("loss"); };
      const Eigen::VectorXd by = popflow::test::gradient(loss, at, step_at(at[1]));
      const double tolerance = at[1] == 0 ? 1e-5 : 1e-9;
      CHECK((rhs(system, at) + by).cwiseAbs().maxCoeff() < tolerance * (1 + by.norm()));
      CHECK(observe(system, at).at("gradient_norm") == Approx(by.norm()).epsilon(1e-5));
    }
  }
}

TEST_CASE("markov: the optimal bias minimises the loss, and the flow is the loss's gradient at it",
          "[fast][markov]") {
  for (const PQ& of : kChains) {
    for (const Eigen::Vector3d& state : kStates) {
      const Eigen::Vector2d at = state.head<2>();
      INFO("p = " << of.p << ", q = " << of.q << ", at " << at.transpose());
      const Markov system = optimal(of, at[0], at[1]);
      // The total derivative of L(e, w, b*(e, w)) ...
      const auto loss = [&](const Eigen::VectorXd& x) { return observe(system, x).at("loss"); };
      const Eigen::VectorXd by = popflow::test::gradient(loss, at, step_at(at[1]));
      const double tolerance = at[1] == 0 ? 1e-5 : 1e-9;
      CHECK((rhs(system, at) + by).cwiseAbs().maxCoeff() < tolerance * (1 + by.norm()));
      // ... is the partial one at fixed b = b* (envelope theorem), and the bias is at rest.
      Eigen::Vector3d with_bias;
      with_bias << at, recorded_bias(system, at);
      const Markov free = free_bias(of, at[0], at[1], with_bias[2]);
      const Eigen::Vector3d partial = rhs(free, with_bias);
      CHECK((rhs(system, at) - partial.head<2>()).norm() < 1e-13 * (1 + partial.norm()));
      CHECK(std::abs(partial[2]) < 1e-15);
      const auto seen = observe(system, at);
      for (const auto& [name, value] : observe(free, with_bias)) {
        INFO(name);
        if (std::isnan(value))
          CHECK(std::isnan(seen.at(name)));
        else
          CHECK(seen.at(name) == Approx(value).epsilon(1e-12).margin(1e-14));
      }
      for (const double step : {-1e-3, 1e-3}) {
        Eigen::Vector3d moved = with_bias;
        moved[2] += step;
        CHECK(observe(free, moved).at("loss") >= seen.at("loss"));
      }
    }
  }
}

TEST_CASE("markov: loss and gradient are means over the four pairs of symbols", "[fast][markov]") {
  for (const PQ& of : kChains) {
    for (const Eigen::Vector3d& at : kStates) {
      INFO("p = " << of.p << ", q = " << of.q << ", at " << at.transpose());
      PairLoss mean;
      double total = 0;
      ChainSampler(of.p, of.q).enumerate([&](int now, int next, double probability) {
        const PairLoss one = pair_loss(now, next, at);
        total += probability;
        mean.loss += probability * one.loss;
        mean.by += probability * one.by;
      });
      REQUIRE(std::abs(total - 1) < 1e-15);
      const Markov system = free_bias(of, at[0], at[1], at[2]);
      CHECK((rhs(system, at) + mean.by).norm() < 1e-14 * (1 + mean.by.norm()));
      CHECK(observe(system, at).at("loss") == Approx(mean.loss).epsilon(1e-12));
    }
  }
}

TEST_CASE("markov: loss and gradient are means over drawn sequences", "[fast][markov]") {
  // 60 000 sequences of 20 symbols at each of six states. The loss and three components of the
  // gradient lie within 5 standard errors; with another seed one of the 24 numbers fails with
  // probability 1.4e-5. Successive pairs of a sequence are correlated, so the standard error counts
  // sequences, not pairs.
  const std::pair<PQ, Eigen::Vector3d> cases[] = {
      {{0.2, 0.3}, {1.2, 0.5, 0.4}},     {{0.2, 0.3}, {0.9, -0.4, 0.6}},
      {{0.7, 0.8}, {1.2, 0.5, 0.4}},     {{0.663, 0.872}, {1.5, -1.1, -0.3}},
      {{0.05, 0.5}, {-0.8, -0.6, -1.5}}, {{0.9, 0.3}, {1.6, 0.2, 1.0}}};
  std::uint32_t number = 0;
  for (const auto& [of, at] : cases) {
    INFO("p = " << of.p << ", q = " << of.q << ", at " << at.transpose());
    const ChainSampler sampler(of.p, of.q);
    RandomStream random(11, Purpose::test, number++);
    SampleMean mean(4);
    for (int i = 0; i < 60'000; ++i) {
      const PairLoss one = sequence_loss(sampler.draw(20, random), at);
      mean.add(Eigen::Vector4d(one.loss, one.by[0], one.by[1], one.by[2]));
    }
    const Markov system = free_bias(of, at[0], at[1], at[2]);
    Eigen::Vector4d expected;
    expected << observe(system, at).at("loss"), -rhs(system, at);
    CHECK(mean.worst_z(expected) < 5);
    // The samples are enough to detect a mistake: standard errors are small relative to the
    // gradient.
    CHECK(mean.standard_error().maxCoeff() < 0.02 * expected.tail<3>().cwiseAbs().maxCoeff());

    // The flow with the optimal bias, at the value of this bias.
    const Markov best = optimal(of, at[0], at[1]);
    Eigen::Vector3d there = at;
    there[2] = recorded_bias(best, at.head<2>());
    SampleMean at_best(2);
    for (int i = 0; i < 20'000; ++i)
      at_best.add(sequence_loss(sampler.draw(20, random), there).by.head<2>());
    CHECK(at_best.worst_z(-rhs(best, at.head<2>())) < 5);
  }
}
