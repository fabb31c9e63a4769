#pragma once

#include "popflow/math/log.hpp"

// Numbers with twice as many digits: sums of two doubles.
namespace popflow::math {

/// a + b, exactly, for |a| >= |b| or a = 0.
inline TwoTerms<double> ordered_sum(double a, double b) {
  const double sum = a + b;
  return {sum, (a - sum) + b};
}

/// a b, exactly unless it overflows or underflows (by splitting the factors, Dekker 1971).
inline TwoTerms<double> exact_product(double a, double b) {
  constexpr double kHalves = 0x1p27 + 1;
  const double a_large = a * kHalves - (a * kHalves - a);
  const double b_large = b * kHalves - (b * kHalves - b);
  const double a_small = a - a_large;
  const double b_small = b - b_large;
  const double product = a * b;
  const double left =
      a_small * b_small - (((product - a_large * b_large) - a_small * b_large) - a_large * b_small);
  return {product, left};
}

/// Sum to about 100 bits of the larger argument.
inline TwoTerms<double> sum(const TwoTerms<double>& a, const TwoTerms<double>& b) {
  const double high = a.high + b.high;
  const double of_b = high - a.high;
  const double left = (a.high - (high - of_b)) + (b.high - of_b);  // exactly (Knuth)
  return ordered_sum(high, left + (a.low + b.low));
}

/// Product to about 100 bits.
inline TwoTerms<double> product(const TwoTerms<double>& a, const TwoTerms<double>& b) {
  const TwoTerms<double> both = exact_product(a.high, b.high);
  return {both.high, both.low + (a.high * b.low + a.low * b.high)};
}

}  // namespace popflow::math
