#pragma once

#include <cstddef>

#include "popflow/math/exp.hpp"
#include "popflow/math/log.hpp"

namespace popflow {

// Fast exponentials and logarithms for inner loops. If their result is a normal number, they have
// the same bits as math::exp(), math::expm1() and math::log().

using SplitExponential = math::SplitExp<double>;

// Arguments are clamped to these limits, at which 2^k is still a normal number.
inline constexpr double kLowestExponent = -708;
inline constexpr double kHighestExponent = 709;

/// Clamps x to the limits; keeps a NaN.
inline double within_exponents(double x) {
  x = x < kLowestExponent ? kLowestExponent : x;
  return x > kHighestExponent ? kHighestExponent : x;
}
template <std::size_t lanes>
POPFLOW_MATH_INLINE math::Wide<lanes> within_exponents(const math::Wide<lanes>& x) {
  const math::Wide<lanes> low = kLowestExponent, high = kHighestExponent;
  const math::Wide<lanes> above = if_less(x, low, low, x);
  return if_less(high, above, high, above);
}

/// Splits e^x into the factors of math::SplitExp, for any number type of math/number.hpp. Requires
/// kLowestExponent <= x <= kHighestExponent, or NaN.
template <class Number>
inline __attribute__((always_inline)) math::SplitExp<Number> split_exponential_within(
    const Number& x) {
  Number shifted;
  return math::split_exp(x, shifted);
}

template <class Number>
inline __attribute__((always_inline)) math::SplitExp<Number> split_exponential(const Number& x) {
  return split_exponential_within(Number(within_exponents(x)));
}

// ---- for doubles and Packs

/// e^x for -708 <= x <= 709; arguments outside are clamped to these limits. NaN for NaN.
inline double exponential(double x) { return split_exponential(x).value(); }
template <math::NumberClass Pack>
POPFLOW_MATH_INLINE Pack exponential(const Pack& x) {
  return Pack::each(
      [](const auto& part) POPFLOW_INLINED { return split_exponential(part).value(); }, x);
}

/// e^x - 1, with arguments clamped to the same limits.
inline double exponential_m1(double x) { return split_exponential(x).less_one(); }
template <math::NumberClass Pack>
POPFLOW_MATH_INLINE Pack exponential_m1(const Pack& x) {
  return Pack::each(
      [](const auto& part) POPFLOW_INLINED { return split_exponential(part).less_one(); }, x);
}

/// Logarithm of a normal positive number.
inline double logarithm(double x) { return math::log_of_normal(x); }
template <math::NumberClass Pack>
POPFLOW_MATH_INLINE Pack logarithm(const Pack& x) {
  return Pack::each([](const auto& part) POPFLOW_INLINED { return math::log_of_normal(part); }, x);
}

}  // namespace popflow
