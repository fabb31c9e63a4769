#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <limits>

#include "dynamics/markov/bernoulli.hpp"
#include "support/catch.hpp"
#include "support/markov_fixture.hpp"

// Compares results in double precision with the same formulas in many digits, where nothing
// saturates or cancels.

using namespace popflow::markov;
using namespace popflow::markov::test;

namespace {

namespace mp = boost::multiprecision;
// With these digits (p - q) + sqrt((p - q)^2 + 4 p q e^s) may lose |s|/2.3 digits (p < q, negative
// s).
using Exact = mp::number<mp::cpp_bin_float<340>, mp::et_off>;

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

Exact exact_slope(double e, double w) {
  const Exact E = e, W = w;
  return E * E * (1 + 2 * W * abs(W));
}

/// f_0 at the optimal bias, by its formula in p - q and e^s.
Exact exact_f0(double p, double q, const Exact& s) {
  const Exact P = p, Q = q;
  const Exact D = P - Q;
  return log((D + sqrt(D * D + 4 * P * Q * exp(s))) / (2 * Q * exp(s)));
}

Exact sigma(const Exact& f) { return 1 / (1 + exp(-f)); }

double error(double found, const Exact& expected) {
  return std::abs(static_cast<double>(Exact(found) - expected));
}

const std::vector<PQ> kLopsided = {{0.2, 0.3},
                                   {0.3, 0.2},
                                   {0.7, 0.8},
                                   {0.8, 0.7},
                                   {0.4, 0.4},
                                   {0.5, 0.499},
                                   {0.999, 0.998},
                                   {1e-6, 1e-4},
                                   {1e-4, 0.9},
                                   {0.3, 0.3 + 1e-14},
                                   {1 - 1e-12, 1 - 1e-12}};

}  // namespace

TEST_CASE("markov: the optimal bias and its logits are accurate to rounding", "[fast][markov]") {
  for (const PQ& of : kLopsided) {
    const Chain chain(of.p, of.q);
    for (const double e : {1e-8, 0.3, 1.0, 5.0, 13.0, 40.0}) {
      for (const double w : {-30.0, -1.2, -0.7071, -0.7, -0.1, 0.0, 0.4, 0.8, 30.0}) {
        const Exact s = exact_slope(e, w);
        if (abs(s) > 650) continue;
        INFO("p = " << of.p << ", q = " << of.q << ", e = " << e << ", w = " << w);
        const Exact f0 = exact_f0(of.p, of.q, s);
        const Exact b = f0 + Exact(e) * e / 2;
        const Logits found = optimal_logits(chain, e, w);
        // p - q contributes its own rounding where p and q are nearly equal.
        const double size = 1 + e * e;
        CHECK(error(found.bias, b) <= 8 * kEpsilon * (1 + std::abs(static_cast<double>(b))));
        CHECK(error(found.f0, f0) <= 8 * kEpsilon * (size + std::abs(static_cast<double>(f0))));
        CHECK(error(found.f1, f0 + s) <=
              8 * kEpsilon * (size + std::abs(static_cast<double>(f0 + s))));
      }
    }
  }
}

TEST_CASE("markov: the optimal bias solves its equation at slopes in the millions",
          "[fast][markov]") {
  // g_0 + g_1 = 0 is q u y^2 + (q - p) y - p = 0 with y = e^{f_0} and u = e^s. A type with many
  // digits and a long exponent holds all terms. One Newton step in log y gives the error of f_0.
  for (const PQ& of : kLopsided) {
    const Chain chain(of.p, of.q);
    for (const double e : {13.0, 40.0}) {
      for (const double w : {-30.0, -8.0, -1.2, 0.8, 8.0, 30.0}) {
        INFO("p = " << of.p << ", q = " << of.q << ", e = " << e << ", w = " << w);
        const Exact P = of.p, Q = of.q, u = exp(exact_slope(e, w));
        const double b = optimal_logits(chain, e, w).bias;
        const Exact y = exp(Exact(b) - Exact(e) * e / 2);
        const Exact step = (Q * u * y * y + (Q - P) * y - P) / (2 * Q * u * y * y + (Q - P) * y);
        CHECK(error(0, step) <= 8 * kEpsilon * (1 + std::abs(b)));
      }
    }
  }
}

TEST_CASE("markov: the model's pairs and the gradient are accurate to rounding", "[fast][markov]") {
  for (const PQ& of : kLopsided) {
    const Chain chain(of.p, of.q);
    const Exact P = of.p, Q = of.q;
    const Exact pi1 = P / (P + Q), pi0 = Q / (P + Q);
    const Exact best = log((1 - P) * (1 - Q) / (P * Q));
    CHECK(error(chain.best_slope, best) <= 4 * kEpsilon * (1 + std::abs(chain.best_slope)) *
                                               (std::abs(chain.best_slope) < 0.5 ? 0.5 : 1));
    for (const double s : {-650.0, -60.0, -8.0, -1.0, -1e-3, -1e-9, 0.0, 1e-9, 1e-3, 1.0, 8.0, 60.0,
                           650.0, chain.best_slope * (1 + 1e-9), chain.best_slope + 1e-6}) {
      INFO("p = " << of.p << ", q = " << of.q << ", s = " << s);
      const Exact f0 = exact_f0(of.p, of.q, s);
      const Exact f1 = f0 + s;
      const Exact x = pi0 * sigma(f0);
      const Exact stay0 = pi0 * sigma(-f0), stay1 = pi1 * sigma(f1);
      const Exact g1 = pi1 * (sigma(f1) - (1 - Q));
      const ModelPairs pairs = model_pairs(chain, s);
      const double relative = 16 * kEpsilon * (1 + std::abs(s));
      CHECK(error(pairs.change, x) <= relative * static_cast<double>(x));
      // e^s / (D + ...)^2 doubles the relative error of D.
      const double near = of.p == of.q ? 1 : of.p / std::abs(of.p - of.q) > 1e6 ? 100 : 1;
      CHECK(error(pairs.stay0, stay0) <= near * relative * static_cast<double>(stay0));
      CHECK(error(pairs.stay1, stay1) <= near * relative * static_cast<double>(stay1));
      // s* contains the rounding of log p and log q.
      const Exact curvature = 1 / (1 / x + 1 / stay0 + 1 / x + 1 / stay1);
      const double by_rounding = static_cast<double>(curvature) * 8 * kEpsilon *
                                 (std::abs(chain.best_slope) + std::abs(s));
      CHECK(error(pairs.g1, g1) <=
            by_rounding + near * relative * std::abs(static_cast<double>(g1)));
      CHECK(error(pairs.curvature, curvature) <=
            near * 2 * relative * static_cast<double>(curvature));
    }
  }
}

TEST_CASE("markov: the gradient stays accurate where both sigmoids saturate", "[fast][markov]") {
  // At s = 89 sigma(f_1) rounds to 1 and sigma(f_0) is 1e-19; g_1 is near its limit.
  const Chain chain(0.2, 0.3);
  const ModelPairs pairs = model_pairs(chain, 89);
  CHECK(pairs.g1 == Approx(chain.pair_change).epsilon(1e-15));
  CHECK(pairs.change == Approx(std::sqrt(chain.pi0 * chain.pi1) * std::exp(-44.5)).epsilon(1e-12));
  const ModelPairs far = model_pairs(chain, -2.9e6);
  CHECK(far.g1 == Approx(chain.pair_change - std::min(chain.pi0, chain.pi1)).epsilon(1e-14));
  for (const double s : {-1e12, -3000.0, 3000.0, 1e12}) {
    for (const PQ& of : kLopsided) {
      const ModelPairs pairs_of = model_pairs(Chain(of.p, of.q), s);
      for (const double value :
           {pairs_of.change, pairs_of.stay0, pairs_of.stay1, pairs_of.g1, pairs_of.curvature})
        CHECK(std::isfinite(value));
      CHECK((s > 0 ? pairs_of.g1 > 0 : pairs_of.g1 < 0));
    }
  }
}

TEST_CASE("markov: log(1 + z) - z is accurate to rounding", "[fast][markov]") {
  for (const double z :
       {-0.9, -0.5, -0.4999, -0.1, -1e-3, -1e-9, 1e-9, 1e-3, 0.1, 0.4999, 0.5, 7.0}) {
    INFO("z = " << z);
    const Exact wanted = log(1 + Exact(z)) - Exact(z);
    CHECK(error(log1p_minus(z), wanted) <= 4 * kEpsilon * std::abs(static_cast<double>(wanted)));
  }
  CHECK(log1p_minus(0) == 0);
}

TEST_CASE("markov: differences of coins' entropies are accurate to rounding", "[fast][markov]") {
  for (const double p : {1e-12, 0.003, 0.3, 0.5, 0.7, 0.998, 1 - 1e-12}) {
    for (const double d : {-2000.0, -60.0, -3.0, -0.5, -0.4, -1e-3, -1e-9, 1e-9, 1e-3, 0.4, 0.51,
                           3.0, 60.0, 2000.0}) {
      INFO("p = " << p << ", d = " << d);
      const Exact P = p, D = d;
      const Exact divergence = log(1 - P + P * exp(D)) - P * D;
      const Exact change = sigma(log(P / (1 - P)) + D) - P;
      const double relative = 16 * kEpsilon * std::max(1.0, std::abs(d));
      CHECK(error(coin_divergence(p, d), divergence) <= relative * static_cast<double>(divergence));
      CHECK(error(probability_change(p, d), change) <=
            relative * std::abs(static_cast<double>(change)));
    }
    CHECK(coin_divergence(p, 0) == 0);
    CHECK(probability_change(p, 0) == 0);
  }
}

TEST_CASE("markov: values are accurate where 0 or 1 is a rare symbol", "[fast][markov]") {
  // Swapping the symbols swaps p and q, and swaps the logits with changed signs.
  for (const double rare : {0.1, 1e-6, 1e-12, 1e-17, 1e-100}) {
    INFO("probability " << rare);
    const Chain chain(0.3, rare), swapped(rare, 0.3);
    for (const double f0 : {-40.0, -1.0, 0.5, 3.0}) {
      for (const double f1 : {-30.0, -0.7, 1.0, 38.0}) {
        const Logits logits{f0, f1, 0}, of_swapped{-f1, -f0, 0};
        CHECK(excess_loss(chain, logits) ==
              Approx(excess_loss(swapped, of_swapped)).epsilon(1e-14));
        CHECK(loss_above_line(chain, logits) ==
              Approx(loss_above_line(swapped, of_swapped)).epsilon(1e-13).margin(1e-14 * rare));
      }
    }
    // Flow with a free bias in exact arithmetic, with differences of logits as large as 230.
    const Eigen::Vector3d x(1, 0.5, 0.2);
    const Exact p = 0.3, q = rare, f0 = Exact(0.2) - Exact(0.5), f1 = f0 + Exact(1.5);
    const Exact g0 = q / (p + q) * (sigma(f0) - p), g1 = p / (p + q) * (sigma(f1) - 1 + q);
    const Eigen::VectorXd dxdt = rhs(free_bias({0.3, rare}, 1, 0.5, 0), x);
    CHECK(error(dxdt[0], g0 - 2 * g1) <= 1e-13 * std::abs(dxdt[0]));
    CHECK(error(dxdt[1], -2 * g1) <= 1e-13 * std::abs(dxdt[1]));
    CHECK(error(dxdt[2], -g0 - g1) <= 1e-13 * std::abs(dxdt[2]));
  }
}

TEST_CASE("markov: energies near the separatrix are accurate to rounding", "[fast][markov]") {
  for (const double w : {-1e-9, -0.3, -0.7, -0.707, -0.70710678118, -0.7071067812, -0.72, -3.0}) {
    for (const double e : {0.0, 1e-9, 1e-4, 0.3}) {
      INFO("e = " << e << ", w = " << w);
      const Exact W = w, E = e;
      const Exact well = W * W - log(-W) - (1 + log(Exact(2))) / 2;
      const Exact expected = E * E - well;
      CHECK(error(energy_above_saddle(e, w), expected) <=
            8 * kEpsilon * static_cast<double>(E * E + well));
      CHECK(error(energy(e, w), E * E - W * W + log(-W)) <=
            4 * kEpsilon * (std::abs(energy(e, w)) + 1));
    }
  }
}

TEST_CASE("markov: losses above the line and above the lowest one are accurate to rounding",
          "[fast][markov]") {
  for (const PQ& of : kLopsided) {
    const Chain chain(of.p, of.q);
    const Exact p = of.p, q = of.q, pi0 = q / (p + q), pi1 = p / (p + q);
    const auto entropy = [](const Exact& x) { return Exact(-x * log(x) - (1 - x) * log(1 - x)); };
    for (const double size : {1e-16, 1e-10, 1e-5, 0.01, 0.4, 0.6, 3.0, 30.0})
      for (const double slope : {size, -size}) {
        INFO("p = " << of.p << ", q = " << of.q << ", slope " << slope);
        const Exact s = slope, f0 = exact_f0(of.p, of.q, s), f1 = f0 + s;
        const auto cross = [](const Exact& given, const Exact& f) {
          return Exact(-given * log(sigma(f)) - (1 - given) * log(sigma(-f)));
        };
        const Exact loss = pi0 * cross(p, f0) + pi1 * cross(1 - q, f1);
        const Exact above_line = loss - entropy(pi1);
        const Exact excess = loss - pi0 * entropy(p) - pi1 * entropy(q);
        // Near the other zero of the loss its two divergences cancel, and the error is relative to
        // their size.
        const double terms = std::abs(chain.slope_at_line * slope);
        CHECK(error(loss_above_line_at(chain, slope), above_line) <=
              1e-13 * std::abs(static_cast<double>(above_line)) + 1e-14 * terms);
        // The slope and the best slope contribute their rounding.
        const double by_rounding = 4 * kEpsilon * (std::abs(slope) + std::abs(chain.best_slope)) *
                                   std::abs(slope_gradient(chain, slope));
        if (std::abs(slope - chain.best_slope) > 1e-9)
          CHECK(error(excess_loss_at(chain, slope), excess) <=
                1e-12 * static_cast<double>(excess) + by_rounding);
      }
  }
}
