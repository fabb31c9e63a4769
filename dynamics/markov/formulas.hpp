#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>

#include "dynamics/common/divisions.hpp"
#include "dynamics/markov/bernoulli.hpp"
#include "dynamics/markov/chain.hpp"
#include "dynamics/markov/path_sums.hpp"
#include "popflow/math.hpp"

/// Equations of the flow, its event and its noise for any type of number: a double for one
/// trajectory, or Packs for many. The chain's numbers are stored in structures, which in lanes are
/// rows of parameters.
namespace popflow::markov {

template <class Number>
inline constexpr bool is_alone = std::same_as<Number, double>;

/// Value of w used by the right-hand side: 0 if w is frozen.
template <class Number>
POPFLOW_MATH_INLINE Number acting(const Number& w) {
  return math::select(math::abs(w) < kVanishing, 0, w);
}

/// s = e^2 (1 + 2w|w|).
template <class Number>
POPFLOW_MATH_INLINE Number slope(const Number& e, const Number& w) {
  return e * e * (1 + 2 * (w * math::abs(w)));
}

// ---- The optimal bias.
// With slope s, the logits of x_{n+1} = 1 are f_0 after a 0 and f_1 = f_0 + s after a 1.

/// Numbers of a chain that determine its pairs at a slope.
template <class Number>
struct PairNumbers {
  Number pairs;      ///< 2 pi0 pi1
  Number asymmetry;  ///< of Chain, like twice_root and best_*
  Number twice_root;
  Number common, rare;    ///< max(pi0, pi1) and 4 pi0 pi1 min(pi0, pi1)
  Number zero_is_common;  ///< 1 if pi0 >= pi1, else 0
  Number best_slope;
  Number best_change, best_square, best_stay;  ///< best_square: square of best_change
  Number best_stay1;                           ///< pi1 (1 - q)
  Number line;                                 ///< dL/ds on the line e = 0
  Number near;                                 ///< 1 if s* is near 0, else 0
};
inline PairNumbers<double> pair_numbers(const Chain& chain) {
  return {.pairs = 2 * (chain.pi0 * chain.pi1),
          .asymmetry = chain.asymmetry,
          .twice_root = chain.twice_root,
          .common = std::max(chain.pi0, chain.pi1),
          .rare = std::min(chain.pi0, chain.pi1) * 4 * (chain.pi0 * chain.pi1),
          .zero_is_common = chain.pi0 >= chain.pi1 ? 1.0 : 0.0,
          .best_slope = chain.best_slope,
          .best_change = chain.pair_change,
          .best_square = chain.pair_change * chain.pair_change,
          .best_stay = chain.pair_stay,
          .best_stay1 = chain.pi1 * (1 - chain.q),
          .line = chain.slope_at_line,
          .near = std::abs(chain.best_slope) < 1 ? 1.0 : 0.0};
}

/// Whether formulas with `Given` numbers have the bits of a double: for a double, and in lanes that
/// hold states of one chain, whose numbers are then doubles. Other lanes postpone divisions and
/// share exponentials.
template <class Given>
inline constexpr bool is_exact = std::same_as<Given, PairNumbers<double>>;

/// a and b with e^s = (b/a)^2, neither above 1.
template <class Number>
struct HalfPowers {
  Number a, b;
  Number less_one;  ///< the smaller of both, minus 1; only in lanes that are not exact
};
template <bool exact, class Number>
POPFLOW_MATH_INLINE HalfPowers<Number> half_powers(const Number& slope) {
  const Number half = -0.5 * math::abs(slope);
  const auto up = slope > 0;
  if constexpr (exact) {
    const Number less = math::exp(half);
    return {math::select(up, less, 1), math::select(up, 1, less), 0};
  } else {
    const auto [less, less_one] = math::exponentials(half);
    return {math::select(up, less, 1), math::select(up, 1, less), less_one};
  }
}

/// Bound on D^2 + E^2 below which the squares lose digits.
inline constexpr double kSmallestSquare = 1e-280;

/// sqrt(D^2 + E^2). hypot() keeps the digits if the squares would underflow, but is slower. In
/// lanes D is 0 in this case; otherwise one of a and b is 1, and D or E is at least 1e-26.
template <class Number>
POPFLOW_MATH_INLINE Number discriminant(const Number& D, const Number& E) {
  const Number square = D * D + E * E;
  if constexpr (is_alone<Number>)
    return square > kSmallestSquare ? math::sqrt(square) : math::hypot(D, E);
  else
    return math::max(math::sqrt(square), E);
}

/// Pairs and gradient at a slope with the optimal bias. Each is computed on demand, because flows
/// only need the gradient. In lanes that are not exact, the pairs are quotients whose division is
/// postponed. Exact lanes must be regular().
template <class Number, class Given = PairNumbers<Number>>
class PairsAt {
 public:
  POPFLOW_MATH_INLINE PairsAt(const Given& of, const Number& slope)
      : of_(of),
        slope_(slope),
        powers_(half_powers<kExact>(slope)),
        a(powers_.a),
        b(powers_.b),
        D(of.asymmetry * a),
        S(discriminant(D, Number(of.twice_root * b))) {}

  [[nodiscard]] POPFLOW_MATH_INLINE auto change() const {
    return quotient(Number(of_.pairs * a), Number(a + S));
  }
  [[nodiscard]] POPFLOW_MATH_INLINE auto stay0() const {
    return either(
        of_.zero_is_common != 0, [&] { return common(); }, [&] { return rare(); });
  }
  [[nodiscard]] POPFLOW_MATH_INLINE auto stay1() const {
    return either(
        of_.zero_is_common != 0, [&] { return rare(); }, [&] { return common(); });
  }
  /// g_1 = x* - x, from the difference of the two quadratic equations, times a^2.
  [[nodiscard]] POPFLOW_MATH_INLINE Number g1() const {
    const auto x = change();
    const auto below = a * a * (stay0() + of_.best_stay1) + b * b * (x + of_.best_change);
    if constexpr (is_alone<Number>)
      return below > 0 ? above() / below : of_.best_change - x;
    else if constexpr (kExact)
      return math::select(below > 0, above() / below, of_.best_change - x);
    else
      return above() / below;
  }
  /// d^2L/ds^2 = d(g1)/ds
  [[nodiscard]] double curvature() const { return S > 0 ? stay0() * (stay1() / S) * a : 0; }
  /// Where the pairs of exact lanes have the bits of a double: the squares in S keep their digits.
  [[nodiscard]] POPFLOW_MATH_INLINE auto regular() const {
    const Number E = of_.twice_root * b;
    return D * D + E * E > kSmallestSquare;
  }

 private:
  static constexpr bool kExact = is_exact<Given>;

  static POPFLOW_MATH_INLINE auto quotient(const Number& numerator, const Number& denominator) {
    if constexpr (kExact)
      return numerator / denominator;
    else
      return over(numerator, denominator);
  }
  [[nodiscard]] POPFLOW_MATH_INLINE auto common() const {
    return quotient(Number(of_.common * (D + S)), Number(a + S));
  }
  [[nodiscard]] POPFLOW_MATH_INLINE auto rare() const {
    if constexpr (is_alone<Number>)
      if (!(S > 0)) return 0.0;
    return of_.rare * quotient(b, S + D) * quotient(b, a + S);
  }
  /// Numerator b^2 x*^2 - a^2 Pr(0,0) Pr(1,1), with the probabilities of the chain. The quotient of
  /// both products is e^(s* - s), so one more exponential keeps all digits near s*. Lanes that are
  /// not exact use the exponential that they have: where the products nearly agree, s itself has
  /// lost as many digits. Near independence both products are near their values on the line, whose
  /// difference is small, too.
  [[nodiscard]] POPFLOW_MATH_INLINE Number above() const {
    if constexpr (kExact) {
      const double best = of_.best_change;
      const Number d = slope_ - of_.best_slope;
      const Number less_one = math::expm1(-math::abs(d));
      if constexpr (is_alone<Number>)
        return d < 0 ? a * a * of_.best_stay * less_one : -b * b * best * best * less_one;
      else
        return math::select(d < 0, a * a * of_.best_stay * less_one,
                            -b * b * best * best * less_one);
    } else {
      const Number& less_one = powers_.less_one;
      const Number from_line =
          of_.line +
          math::select(slope_ > 0, -of_.best_stay, of_.best_square) * (less_one * (2 + less_one));
      return math::select(of_.near != 0, from_line,
                          b * b * of_.best_square - a * a * of_.best_stay);
    }
  }

  const Given& of_;
  Number slope_;
  HalfPowers<Number> powers_;
  Number a, b, D, S;
};

/// Logits at a slope, and their common part: the log-odds of the rarer symbol, from which the
/// smaller of 1 and e^s is factored out.
template <class Number>
struct LogitsAtSlope {
  Number f0, f1, common;
};
template <class Number>
POPFLOW_MATH_INLINE LogitsAtSlope<Number> logits_at(const Chain& chain, const Number& slope) {
  if (chain.p == chain.q) return {-slope / 2, slope / 2, 0};
  const HalfPowers<Number> of_slope = half_powers<true>(slope);
  const Number D = chain.asymmetry * of_slope.a;
  const Number S = discriminant(D, Number(chain.twice_root * of_slope.b));
  const Number r = math::log(2 * std::min(chain.pi0, chain.pi1) / (D + S));
  const Number log_a = -math::max(slope, Number(0.0)) / 2;
  if (chain.p < chain.q) return {r + log_a, r + (slope + log_a), r};
  return {-r - (slope + log_a), -r - log_a, r};
}

/// log(1 + z) - z with z = by/base, where `changed` is base + by; accurate for arbitrarily small
/// `by`.
template <class Number>
POPFLOW_MATH_INLINE Number log_minus_first_order(double base, const Number& changed,
                                                 const Number& by) {
  const Number z = by / base;
  const auto near = math::abs(z) < 0.5;
  if (!math::any(!near)) return log1p_minus_by_series(z);
  const Number far = math::log(changed / base) - z;
  if constexpr (is_alone<Number>)
    return far;
  else
    return math::select(near, log1p_minus_by_series(z), far);
}

/// given log(given/model) + model - given for model = given + by: never negative, and accurate even
/// if both nearly agree.
template <class Number>
POPFLOW_MATH_INLINE Number divergence_of_pair(double given, const Number& model, const Number& by) {
  return -given * log_minus_first_order(given, model, by);
}

/// Implements excess_loss() for pairs: their divergence from the chain's own pairs.
template <class Number>
POPFLOW_MATH_INLINE Number excess_of_pairs(const Chain& chain, const Number& change,
                                           const Number& stay0, const Number& stay1,
                                           const Number& g1) {
  return 2 * divergence_of_pair(chain.pair_change, change, Number(-g1)) +
         divergence_of_pair(chain.pi0 * (1 - chain.p), stay0, g1) +
         divergence_of_pair(chain.pi1 * (1 - chain.q), stay1, g1);
}

/// Bound below which probabilities of pairs vanish: beyond slopes of about a thousand they
/// underflow, but their logarithms do not.
inline constexpr double kVanishingPair = 1e-290;

// ---- The flow.

/// Derivatives of the loss with respect to f_0 and f_1.
template <class Number>
struct ByLogits {
  Number g0, g1;
};

template <class Number>
POPFLOW_MATH_INLINE ByLogits<Number> by_logits(const PairNumbers<Number>& of, const Number& slope) {
  const Number g1 = PairsAt(of, slope).g1();
  return {-g1, g1};
}

/// Numbers of a chain that determine the gradient with a free bias.
template <class Number>
struct CoinNumbers {
  Number p, q, pi0, pi1, logit_p, logit_q;
};
inline CoinNumbers<double> coin_numbers(const Chain& chain) {
  return {chain.p, chain.q, chain.pi0, chain.pi1, chain.logit_p, chain.logit_q};
}

template <class Number>
POPFLOW_MATH_INLINE ByLogits<Number> by_logits(const CoinNumbers<Number>& of, const Number& f0,
                                               const Number& f1) {
  // In terms of the probability of a 0, which keeps the digits of a small q.
  return {of.pi0 * probability_change<Number>(of.p, f0 - of.logit_p),
          -of.pi1 * probability_change<Number>(of.q, -(f1 + of.logit_q))};
}

/// State as numbers e, w and b; b is used only with a free bias.
template <class Number>
struct ByState {
  Number e, w, b;

  template <std::size_t i>
  [[nodiscard]] POPFLOW_MATH_INLINE const Number& at() const {
    if constexpr (i == 0)
      return e;
    else if constexpr (i == 1)
      return w;
    else
      return b;
  }
};

/// The gradient of the loss.
template <class Number>
POPFLOW_MATH_INLINE ByState<Number> gradient(const ByLogits<Number>& g, const Number& e,
                                             const Number& acting_w) {
  const Number size = math::abs(acting_w);
  return {e * ((1 + 4 * (acting_w * size)) * g.g1 - g.g0), 4 * size * e * e * g.g1, g.g0 + g.g1};
}

// ---- The event.

/// Distance of a slope from the ends of a range; negative outside.
template <class Number>
POPFLOW_MATH_INLINE Number depth(const Number& slope, const Number& low, const Number& high) {
  return math::min(slope - low, high - slope);
}

// ---- The noise. Let r_x = Pr(x_{n+1} = 1 | x_n = x), and let d_x be the derivative of f_x. Then a
// transition adds m_x + eta_n d_x, where m_x = (r_x - sigma(f_x)) d_x, and eta_n = x_{n+1} - r_x
// has mean zero given the past. Symbols follow x_{n+1} - pi_1 = lambda (x_n - pi_1) + eta_n, so the
// sum over n is
//   its mean + (m_1 - m_0) g(N) (x_0 - pi_1) + sum_n eta_n [d_{x_n} + (m_1 - m_0) g(N-1-n)]
// with uncorrelated terms, so that their variances add without cancellation.

/// Derivatives of f_0 and f_1. Those of f_0 with respect to w are 0, those with respect to b are 1.
template <class Number>
struct LogitDerivatives {
  ByState<Number> of0, of1;
};
template <class Number>
POPFLOW_MATH_INLINE LogitDerivatives<Number> logit_derivatives(const Number& e,
                                                               const Number& acting_w) {
  // f_0 = b - e^2/2 and f_1 = f_0 + s.
  const Number size = math::abs(acting_w);
  return {{-e, 0, 1}, {e * (1 + 4 * (acting_w * size)), 4 * (e * e) * size, 1}};
}

/// Gradient of the loss by the chain rule: cheaper than ByState if the derivatives are available.
template <class Number>
POPFLOW_MATH_INLINE ByState<Number> gradient(const ByLogits<Number>& g,
                                             const LogitDerivatives<Number>& f) {
  return {g.g0 * f.of0.e + g.g1 * f.of1.e, g.g1 * f.of1.w, g.g0 + g.g1};
}

/// Numbers of a chain and its sequence length that determine the covariance.
template <class Number>
struct NoiseNumbers {
  Number mean;            ///< mean of g over positions
  Number of0, of1, both;  ///< variances of the terms; in lanes divided by `square`
  Number square;          ///< square of the length
  Divisor<Number> pi0, pi1;
};
inline NoiseNumbers<double> noise_numbers(const Chain& chain, const PathSums& sums) {
  const double N = sums.length;
  const double mean = sums.sum / N;
  const double spread = std::max(sums.squares - sums.sum * mean, 0.0);
  const double first = chain.pi0 * chain.pi1 * sums.g * sums.g;
  const double v0 = chain.pi0 * chain.p * (1 - chain.p);
  const double v1 = chain.pi1 * chain.q * (1 - chain.q);
  return {mean,
          N * v0,
          N * v1,
          (v0 + v1) * spread + first,
          N * N,
          divisor(chain.pi0),
          divisor(chain.pi1)};
}

/// Covariance of the gradient of a sequence, entry by entry.
template <class Number>
class GradientCovariance {
 public:
  POPFLOW_MATH_INLINE GradientCovariance(const NoiseNumbers<Number>& of, const ByLogits<Number>& g,
                                         const LogitDerivatives<Number>& f)
      : of_(of) {
    const Number m0 = g.g0 / of.pi0, m1 = g.g1 / of.pi1;
    between_ = {m0 * f.of0.e - m1 * f.of1.e, -(m1 * f.of1.w), m0 - m1};
    u0_ = {f.of0.e + of.mean * between_.e, of.mean * between_.w, 1 + of.mean * between_.b};
    u1_ = {f.of1.e + of.mean * between_.e, f.of1.w + of.mean * between_.w,
           1 + of.mean * between_.b};
  }

  template <std::size_t i, std::size_t j>
  [[nodiscard]] POPFLOW_MATH_INLINE Number entry() const {
    const Number sum = of_.of0 * u0_.template at<i>() * u0_.template at<j>() +
                       of_.of1 * u1_.template at<i>() * u1_.template at<j>() +
                       of_.both * between_.template at<i>() * between_.template at<j>();
    if constexpr (is_alone<Number>)
      return sum / of_.square;
    else
      return sum;
  }

 private:
  const NoiseNumbers<Number>& of_;
  ByState<Number> between_, u0_, u1_;
};

}  // namespace popflow::markov
