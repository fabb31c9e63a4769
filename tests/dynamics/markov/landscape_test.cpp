#include <cmath>

#include "dynamics/markov/formulas.hpp"
#include "support/catch.hpp"
#include "support/floor.hpp"
#include "support/markov_fixture.hpp"

// Limits of starts by the landscape's theorems, compared with integration.

using namespace popflow;
using namespace popflow::markov;
using namespace popflow::markov::test;

namespace {

const double kRootHalf = std::sqrt(0.5);
const double kSaddleEnergy = -(1 + std::log(2.0)) / 2;

/// Returns the end of a start with e != 0 from the table of energy, sign of w, side of the saddle
/// and p + q.
std::string by_the_table(const PQ& of, double e, double w) {
  const bool positive = of.p + of.q < 1;
  if (w >= 0) return positive ? "global" : "local";
  if (e * e - w * w + std::log(-w) > kSaddleEnergy) return "global";
  return positive == (w > -kRootHalf) ? "global" : "local";
}

/// Entropies H(x_{n+1} | x_n) and H(pi), computed from their definitions.
struct Entropies {
  explicit Entropies(const PQ& of) {
    const auto h = [](double p) { return -p * std::log(p) - (1 - p) * std::log1p(-p); };
    const double pi1 = of.p / (of.p + of.q);
    rate = (1 - pi1) * h(of.p) + pi1 * h(of.q);
    stationary = h(pi1);
  }
  double rate = 0, stationary = 0;
};

/// Returns the e at which the energy of (e, w) exceeds the separatrix's by `above`.
double e_at(double above, double w) {
  return std::sqrt(w * w - std::log(-w) + kSaddleEnergy + above);
}

}  // namespace

TEST_CASE("markov: 144 starts end where the table says", "[fast][markov]") {
  int global = 0, local = 0;
  for (const PQ& of : {PQ{0.2, 0.3}, PQ{0.7, 0.8}, PQ{0.05, 0.6}, PQ{0.663, 0.872}}) {
    const Entropies entropies(of);
    for (const double e : {0.05, -0.4, 1.0, 2.5}) {
      for (const double w : {-2.0, -1.1, -0.75, -0.66, -0.4, -0.05, 0.0, 0.2, 1.4}) {
        INFO("p = " << of.p << ", q = " << of.q << ", e = " << e << ", w = " << w);
        const std::string expected = by_the_table(of, e, w);
        const Markov system = optimal(of, e, w);
        CHECK(word(system.limit()) == expected);
        const Run run(system, 2 * system.default_end());
        REQUIRE(run.how == Outcome::Kind::reached);
        CHECK(run.outcome == expected);
        const double loss = observe(system, run.x).at("loss");
        CHECK(std::abs(loss - (expected == "global" ? entropies.rate : entropies.stationary)) <
              1e-9);
        // The limit point has the energy of the start.
        const LimitPoint& limit = system.limit_point();
        if (w != 0)
          CHECK(std::abs(energy(limit.e, limit.w) - energy(e, w)) <
                4e-15 * (1 + e * e + w * w + std::abs(std::log(std::abs(limit.w)))));
        if (expected == "global")
          CHECK(std::abs(slope(limit.e, limit.w) - system.chain().best_slope) <
                4e-15 * (1 + e * e) * (1 + w * w));  // rounding of terms that cancel
        else
          CHECK(limit.e == 0);
        CHECK(std::abs(run.x[0] - limit.e) < 1e-5);
        CHECK(std::abs(run.x[1] - limit.w) <= 1e-5 * std::abs(limit.w));
        CHECK(run.x[0] * e >= 0);
        CHECK(run.x[1] * w >= 0);
        (expected == "global" ? global : local) += 1;
      }
    }
  }
  CHECK(global + local == 144);
  CHECK(global > 40);
  CHECK(local > 40);
}

TEST_CASE("markov: starts next to the separatrix end on the side where they start",
          "[fast][markov]") {
  for (const PQ& of : {PQ{0.2, 0.3}, PQ{0.7, 0.8}}) {
    for (const double w : {-0.3, -0.6, -0.9, -1.5}) {
      for (const double above : {1e-3, -1e-3, 1e-6, -1e-6}) {
        INFO("p = " << of.p << ", w = " << w << ", " << above << " above the separatrix");
        const double e = e_at(above, w);
        const Markov system = optimal(of, e, w);
        CHECK(energy_above_saddle(e, w) == Approx(above).epsilon(1e-6));
        const std::string expected = by_the_table(of, e, w);
        CHECK(word(system.limit()) == expected);
        const Run run(system, 3 * system.default_end());
        REQUIRE(run.how == Outcome::Kind::reached);
        CHECK(run.outcome == expected);
        CHECK(energy_above_saddle(run.x[0], run.x[1]) * above > 0);
        const Entropies entropies(of);
        const double loss = observe(system, run.x).at("loss");
        CHECK(std::abs(loss - (expected == "global" ? entropies.rate : entropies.stationary)) <
              1e-6);
      }
    }
  }
}

TEST_CASE("markov: a state that has crossed the separatrix by integration error is undecided",
          "[fast][markov]") {
  const double e = e_at(1e-9, -0.9);
  const Markov system = optimal({0.2, 0.3}, e, -0.9);
  REQUIRE(system.limit() == Limit::global);
  const std::vector<double> own_side = {e_at(1e-9, -0.72), -0.72};
  const std::vector<double> other_side = {e_at(-1e-9, -0.72), -0.72};
  CHECK(system.outcome(own_side, 0) == "global");
  CHECK(system.outcome(other_side, 0) == "undecided");
  // With coarse tolerances the run crosses the separatrix by far more than the start's distance,
  // and reports it.
  const Run coarse(system, 3000, {.rtol = 1e-4, .atol = 1e-6});
  REQUIRE(energy_above_saddle(coarse.x[0], coarse.x[1]) < -1e-8);
  CHECK(coarse.outcome == "undecided");
  const Run fine(system, 3000, {.rtol = 1e-10, .atol = 1e-12});
  REQUIRE(energy_above_saddle(fine.x[0], fine.x[1]) == Approx(1e-9).epsilon(0.01));
  CHECK(fine.outcome == "global");
}

TEST_CASE("markov: on one side of the separatrix the distance to the saddle falls as 1/t",
          "[fast][markov]") {
  for (const PQ& of : {PQ{0.2, 0.3}, PQ{0.7, 0.8}}) {
    const bool positive = of.p + of.q < 1;
    const Chain chain(of.p, of.q);
    for (const double w : {-0.4, -1.1}) {
      INFO("p = " << of.p << ", w = " << w);
      const Markov system = optimal(of, e_at(0, w), w);
      const bool attracted = positive == (w < -kRootHalf);
      CHECK(word(system.limit()) == (attracted ? "saddle" : "global"));
      if (!attracted) continue;
      // On the separatrix z = 2w^2 - 1 and e = |z|/2: dz/dt = -2 gamma z^2 with gamma = pi0 pi1 |1
      // - p - q|.
      const double gamma = std::abs(chain.slope_at_line);
      const Run one(system, 300 / gamma, {.rtol = 1e-11, .atol = 1e-13});
      const Run two(system, 600 / gamma, {.rtol = 1e-11, .atol = 1e-13});
      CHECK(one.outcome == "saddle");
      CHECK(two.outcome == "saddle");
      CHECK(1 / two.x[0] - 1 / one.x[0] == Approx(4 * 300).epsilon(0.02));
    }
    const Markov at_saddle = optimal(of, 0, -kRootHalf);
    CHECK(Run(at_saddle, 10).outcome == "saddle");
  }
}

TEST_CASE("markov: the line e = 0 is at rest, and its loss is the entropy of pi",
          "[fast][markov]") {
  for (const PQ& of : kChains) {
    const Entropies entropies(of);
    for (const double w : {-3.0, -0.8, -0.6, -0.01, 0.0, 0.5}) {
      INFO("p = " << of.p << ", q = " << of.q << ", w = " << w);
      const Markov system = optimal(of, 0, w);
      const auto seen = observe(system, Eigen::Vector2d(0, w));
      CHECK(seen.at("loss") == Approx(entropies.stationary).epsilon(1e-12));
      CHECK(seen.at("prob_0to1") == Approx(of.p / (of.p + of.q)).epsilon(1e-14));
      CHECK(seen.at("prob_1to0") == Approx(of.q / (of.p + of.q)).epsilon(1e-14));
      CHECK(rhs(system, Eigen::Vector2d(0, w)).norm() == 0);
      // The loss at neighbouring states shows whether the line is a minimum or a maximum.
      const bool minimum = (of.p + of.q < 1) == (w < -kRootHalf);
      CHECK(Run(system, 1).outcome == (minimum ? "local" : "maximum"));
      // The loss is s times the correlation plus at most s^2 / 32: so near the line the first term
      // decides.
      const double size = std::min(0.1, std::sqrt(std::abs(1 - of.p - of.q)) / 5);
      for (const double e : {size, -size, size / 10}) {
        for (const double dw : {-0.05, 0.0, 0.05}) {
          const Eigen::Vector2d near(e, w + dw);
          const double change = observe(system, near).at("loss") - seen.at("loss");
          if (std::abs(change) > 1e-14) CHECK((change > 0) == minimum);
        }
      }
    }
  }
}

TEST_CASE("markov: the curve s = s* is the global minimum, at the entropy rate", "[fast][markov]") {
  for (const PQ& of : kChains) {
    const double best = std::log((1 - of.p) * (1 - of.q) / (of.p * of.q));
    CHECK(Chain(of.p, of.q).best_slope == Approx(best).epsilon(1e-12));
    for (const double w : {-2.0, -0.9, -0.3, 0.0, 0.7}) {
      const double k = 1 + 2 * w * std::abs(w);
      if (best / k < 0) continue;
      INFO("p = " << of.p << ", q = " << of.q << ", w = " << w);
      const double e = std::sqrt(best / k);
      const Markov system = optimal(of, e, w);
      const auto seen = observe(system, Eigen::Vector2d(e, w));
      CHECK(seen.at("loss") == Approx(Entropies(of).rate).epsilon(1e-12));
      CHECK(seen.at("excess_loss") < popflow::test::floor_of(system, "excess_loss"));
      CHECK(seen.at("prob_0to1") == Approx(of.p).epsilon(1e-12));
      CHECK(seen.at("prob_1to0") == Approx(of.q).epsilon(1e-12));
      CHECK(seen.at("gradient_norm") < 1e-13);
      CHECK(observe(system, Eigen::Vector2d(1.01 * e, w)).at("excess_loss") > 0);
      CHECK(observe(system, Eigen::Vector2d(0.99 * e, w)).at("excess_loss") > 0);
    }
  }
}

TEST_CASE("markov: the entropy of pi holds for the rarest symbols", "[fast][markov]") {
  // Computed in 80 digits from -pi log pi - (1 - pi) log(1 - pi). Where 1 - pi rounds to 1, the
  // second term is pi.
  CHECK(Chain(1e-17, 0.9).entropy == Approx(4.4487317850267724e-16).epsilon(1e-14));
  CHECK(Chain(0.9, 1e-17).entropy == Approx(4.4487317850267724e-16).epsilon(1e-14));
  CHECK(Chain(1e-50, 0.5).entropy == Approx(2.30872214938e-48).epsilon(1e-11));
  CHECK(Chain(1e-30, 1e-12).entropy == Approx(4.24465316739e-17).epsilon(1e-11));
}

TEST_CASE("markov: for independent symbols every start ends at a global minimum",
          "[fast][markov]") {
  for (const PQ& of : {PQ{0.3, 0.7}, PQ{0.2, 0.8}, PQ{0.5, 0.5}, PQ{0.1, 0.9}}) {
    const Chain chain(of.p, of.q);
    CHECK(chain.independent());
    CHECK(chain.best_slope == 0);
    CHECK(chain.entropy_rate == Approx(chain.entropy).epsilon(1e-14));
    for (const double w : {-1.5, -0.5, 0.0, 0.8}) {
      for (const double e : {0.0, 0.05, 1.3}) {
        INFO("p = " << of.p << ", e = " << e << ", w = " << w);
        const Markov system = optimal(of, e, w);
        const Run run(system, system.default_end());
        REQUIRE(run.how == Outcome::Kind::reached);
        CHECK(run.outcome == "global");
        CHECK(observe(system, run.x).at("excess_loss") < 2e-4 * chain.entropy);
        // Above the separatrix the limit lies on w = -1/sqrt 2, where s = 0 too.
        if (w < 0 && energy_above_saddle(e, w) > 0.1) {
          CHECK(run.x[1] == Approx(-kRootHalf).epsilon(1e-6));
          CHECK(run.x[0] == Approx(system.limit_point().e).epsilon(1e-6));
        }
      }
    }
  }
  // A correlation of 1e-9 or -1e-9 is distinguished from independence.
  CHECK(Chain(0.3, 0.7 - 1e-9).correlation == Approx(1e-9).epsilon(1e-6));
  CHECK(word(limit_of(Chain(0.3, 0.7 - 1e-9), 0.1, 0.1)) == "global");
  CHECK(word(limit_of(Chain(0.3, 0.7 + 1e-9), 0.1, 0.1)) == "local");
}

TEST_CASE("markov: with a free bias the outcome depends on the end alone", "[fast][markov]") {
  int global = 0, local = 0;
  for (const PQ& of : {PQ{0.2, 0.3}, PQ{0.7, 0.8}, PQ{0.663, 0.872}}) {
    const Entropies entropies(of);
    for (const double e : {0.1, 0.9, -2.0}) {
      for (const double w : {-1.5, -0.9, -0.3, 0.0, 0.6}) {
        for (const double b : {-2.0, 1.0}) {
          INFO("p = " << of.p << ", e = " << e << ", w = " << w << ", b = " << b);
          const Markov system = free_bias(of, e, w, b);
          CHECK(system.shape().invariants.empty());
          CHECK(system.shape().events.empty());
          // The outcome is decided early only where the loss is already near the lowest one.
          const Run early(system, 0.1);
          const double excess = observe(system, early.x).at("excess_loss");
          const bool near = excess < 0.01 * (entropies.stationary - entropies.rate);
          CHECK(early.outcome == (near ? "global" : "undecided"));
          const Run run(system, system.default_end());
          const double loss = observe(system, run.x).at("loss");
          if (run.outcome == "global") {
            ++global;
            CHECK(std::abs(loss - entropies.rate) < 1e-8);
          } else if (run.outcome == "local") {
            ++local;
            CHECK(std::abs(loss - entropies.stationary) < 1e-8);
            CHECK(line_attracts(Chain(of.p, of.q), run.x[1]));
          }
          INFO(run.outcome);
          CHECK((run.outcome == "global" || run.outcome == "local"));
        }
      }
    }
  }
  CHECK(global + local == 90);
  CHECK(global > 20);
  CHECK(local > 20);
  // So near the line the gradient nearly vanishes. Where the line repels, this is a plateau.
  const double b = std::log(0.2 / 0.3);
  const Markov any = free_bias({0.2, 0.3}, 0.1, 0.1, 0);
  CHECK(any.outcome(std::vector<double>{1e-8, 0.5, b}, 0) == "undecided");
  CHECK(any.outcome(std::vector<double>{1e-8, -0.5, b}, 0) == "undecided");
  CHECK(any.outcome(std::vector<double>{1e-8, -0.9, b}, 0) == "local");
  // From e = 0 only the bias moves.
  CHECK(Run(free_bias({0.2, 0.3}, 0, 0.5, 2), 200).outcome == "maximum");
  CHECK(Run(free_bias({0.2, 0.3}, 0, -0.9, 2), 200).outcome == "local");
  const Markov independent = free_bias({0.3, 0.7}, 0.4, 0.2, 2);
  CHECK(Run(independent, independent.default_end()).outcome == "global");
}

TEST_CASE("markov: a free bias that starts far off ends at a global minimum and reports it",
          "[fast][numbers][markov]") {
  for (const auto& [of, b0] : {std::pair{PQ{0.2, 0.3}, 100.0}, std::pair{PQ{1e-4, 1e-4}, 0.0}}) {
    const Markov system = free_bias(of, 0.1, 0.1, b0);
    const Run run(system, system.default_end());
    INFO("p = " << of.p << ", excess loss " << observe(system, run.x).at("excess_loss"));
    CHECK(system.outcome(numbers_of(run.x), system.default_end()) == "global");
  }
}
