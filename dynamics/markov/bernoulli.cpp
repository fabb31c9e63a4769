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

/// (artanh(s)/s - 1)/s^2 for s^2 <= 1/9, by its series.
double artanh_beyond(double ss) {
  constexpr int kTerms = 16;
  static constexpr auto kInverseOdd = [] {
    std::array<double, kTerms> inverse = {};
    for (int n = 0; n < kTerms; ++n) inverse[n] = 1.0 / (2 * n + 3);
    return inverse;
  }();
  double sum = 0;
  for (int n = kTerms - 1; n >= 0; --n) sum = sum * ss + kInverseOdd[n];
  return sum;
}

}  // namespace

double log1p_minus(double z) {
  if (std::abs(z) >= 0.5) return math::log1p(z) - z;
  // log(1 + z) = 2 artanh(s), and 2s = z - z s.
  const double s = z / (2 + z);
  return s * (2 * s * s * artanh_beyond(s * s) - z);
}

double logit(double p) { return math::log(p) - math::log1p(-p); }

double sigmoid(double f) {
  const double small = math::exp(-std::abs(f));
  return (f < 0 ? small : 1) / (1 + small);
}

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
