#include "dynamics/markov/bernoulli.hpp"

#include <array>
#include <cmath>

#include "popflow/math.hpp"

namespace popflow::markov {

namespace {

/// e^d - 1 - d for |d| <= 1/2, by its series. Multiplications by 1/n! are far cheaper than
/// divisions, each of which waits for the previous one.
double expm1_minus(double d) {
  constexpr int kTerms = 16;
  static constexpr auto kInverseFactorial = [] {
    std::array<double, kTerms + 1> inverse = {1};
    double factorial = 1;  // exact up to 18!
    for (int n = 1; n <= kTerms; ++n) inverse[n] = 1 / (factorial *= n);
    return inverse;
  }();
  double sum = 0;
  for (int n = kTerms; n >= 2; --n) sum = sum * d + kInverseFactorial[n];
  return sum * d * d;
}

}  // namespace

double log1p_minus(double z) {
  return std::abs(z) >= 0.5 ? math::log1p(z) - z : log1p_minus_by_series(z);
}

double logit(double p) { return math::log(p) - math::log1p(-p); }

double coin_entropy(double p) { return -p * math::log(p) - (1 - p) * math::log1p(-p); }

double coin_divergence(double p, double d) {
  // Uses the probability p of the rarer side: log(1 - p + p e^d) - p d.
  if (p > 0.5) return coin_divergence(1 - p, -d);
  if (std::abs(d) <= 0.5) return log1p_minus(p * math::expm1(d)) + p * expm1_minus(d);
  constexpr double kLargest = 700;  // above this, e^d overflows
  if (d > kLargest) return (1 - p) * d + math::log(p + (1 - p) * math::exp(-d));
  return math::log1p(p * math::expm1(d)) - p * d;
}

}  // namespace popflow::markov
