#pragma once

#include <limits>

#include "popflow/math/number.hpp"

namespace popflow::math {

/// A sum of two numbers.
template <class Number>
struct TwoTerms {
  Number high, low;
};

/// log(2^k (1 + f + by)) for f from sqrt(1/2) - 1 to sqrt(2) - 1, where |by| is a rounding error of
/// f.
template <class Number>
POPFLOW_MATH_INLINE TwoTerms<Number> log_terms(const Number& k, const Number& f, const Number& by) {
  constexpr double kLn2High = 0x1.62e42feep-1;  // its low bits are 0: k * kLn2High is exact
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  const Number s = f / (2.0 + f);
  const Number z = s * s;
  // 2 artanh(s) = 2s + s z (2/3 + 2/5 z ...): the rest by its minimax polynomial to 2^-58.
  Number rest = z * 1.479658566661663159e-01 + 1.53139909468367641e-01;
  rest = rest * z + 1.818356649164913907e-01;
  rest = rest * z + 2.222219853492096719e-01;
  rest = rest * z + 2.857142874274387239e-01;
  rest = rest * z + 3.999999999941335482e-01;
  rest = rest * z + 6.66666666666673402e-01;
  rest = rest * z;
  const Number half = 0.5 * f * f;  // log(1 + f) = f - half + s (half + rest)
  const Number whole = k * kLn2High;
  const Number high = whole + f;
  const Number rounded = (whole - high) + f;  // exactly: |whole| is above |f|, or 0
  return {high, (by + rounded) - (half - (s * (half + rest) + k * kLn2Low))};
}

/// The logarithm of a normal positive number.
template <class Number>
POPFLOW_MATH_INLINE Number log_of_normal(const Number& x) {
  const Number k = exponent_bits(x) - (0x1p52 + 1023);
  const TwoTerms<Number> terms = log_terms(k, Number(mantissa(x) - 1.0), Number(0.0));
  return terms.high + terms.low;
}

/// `value` for 0 < x < infinity; otherwise the logarithm's limits, or NaN.
template <class Number>
POPFLOW_MATH_INLINE Number log_with_limits(const Number& x, const Number& value) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const Number positive =
      if_less(0.0, x, value, if_less(x, 0.0, Number(kNone), Number(-kInfinity)));
  return if_less(x, kInfinity, positive, x);
}

template <class Number>
POPFLOW_MATH_INLINE Number log_of(const Number& x) {
  constexpr double kSmallest = std::numeric_limits<double>::min();
  const Number y = if_less(x, kSmallest, x * 0x1p54, x);
  const Number bias = if_less(x, kSmallest, Number(0x1p52 + 1023 + 54), Number(0x1p52 + 1023));
  const TwoTerms<Number> terms =
      log_terms(Number(exponent_bits(y) - bias), Number(mantissa(y) - 1.0), Number(0.0));
  return log_with_limits(x, Number(terms.high + terms.low));
}

template <class Number>
POPFLOW_MATH_INLINE Number log1p_of(const Number& x) {
  const Number sum = 1.0 + x;
  const Number of_x = sum - 1.0;
  const Number left = (1.0 - (sum - of_x)) + (x - of_x);  // 1 + x = sum + left, exactly
  const Number k = exponent_bits(sum) - (0x1p52 + 1023);
  const Number f = mantissa(sum) - 1.0;
  // Above 2^1000, `left` does not matter, and the inverse power of two may not exist.
  const Number part = if_less(sum, 0x1p1000, Number(left * inverse_power(sum)), Number(0.0));
  // log(1 + f + part) = log(1 + f) + part/(1 + f), 1/(1 + f) to 2%.
  const Number s = f / (2.0 + f);
  const Number by = part * (1.0 - 2.0 * s * (1.0 - s));
  const TwoTerms<Number> terms = log_terms(k, f, by);
  const Number value = log_with_limits(sum, Number(terms.high + terms.low));
  return with_sign(if_less(magnitude(x), 0x1p-54, magnitude(x), magnitude(value)), x);
}

/// log(x) within 1 unit in the last place.
POPFLOW_MATH_INLINE double log(double x) { return log_of(x); }
/// log(1 + x) within 1 unit in the last place.
POPFLOW_MATH_INLINE double log1p(double x) { return log1p_of(x); }

}  // namespace popflow::math
