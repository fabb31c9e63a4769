#pragma once

#include <array>
#include <type_traits>

#include "popflow/math.hpp"

/// Comparison of two Bernoulli distributions (coins). One is given by its probability, the other by
/// the difference of its logit from the first one's logit. Results are accurate to rounding for any
/// size of this difference.
namespace popflow::markov {

/// log(1 + z) - z for |z| < 1/2, by its series, for any type of number.
template <class Number>
POPFLOW_MATH_INLINE Number log1p_minus_by_series(const Number& z) {
  // log(1 + z) = 2 artanh(s), and 2s = z - z s.
  const Number s = z / (2 + z);
  // (artanh(s)/s - 1)/s^2
  constexpr int kTerms = 16;
  constexpr auto kInverseOdd = [] {
    std::array<double, kTerms> inverse = {};
    for (int n = 0; n < kTerms; ++n) inverse[n] = 1.0 / (2 * n + 3);
    return inverse;
  }();
  const Number ss = s * s;
  Number beyond = 0;
  for (int n = kTerms - 1; n >= 0; --n) beyond = beyond * ss + kInverseOdd[n];
  return s * (2 * s * s * beyond - z);
}

/// log(1 + z) - z for z > -1; no cancellation at small z.
double log1p_minus(double z);

/// log(p / (1 - p)).
double logit(double p);

/// 1 / (1 + e^-f), for any type of number.
template <class Number>
POPFLOW_MATH_INLINE Number sigmoid(const Number& f) {
  const Number small = math::exp(-math::abs(f));
  return math::select(f < 0, small, 1) / (1 + small);
}

/// Entropy of a coin in nats.
double coin_entropy(double p);

/// sigmoid(logit(p) + d) - p, for any type of number.
template <class Number>
POPFLOW_MATH_INLINE Number probability_change(const Number& p,
                                              const std::type_identity_t<Number>& d) {
  const auto [less, less_one] = math::exponentials(-math::abs(d));
  const auto up = d > 0;
  const Number other = 1 - p;
  const Number from = math::select(up, p, other);
  const Number to = math::select(up, other, p);
  const Number change = p * other * less_one / (from + to * less);
  return math::select(up, -change, change);
}

/// Kullback-Leibler divergence, in nats, of a coin with logit(p) + d from a coin with p.
double coin_divergence(double p, double d);

}  // namespace popflow::markov
