#pragma once

#include <limits>

#include "popflow/math/number.hpp"

namespace popflow::math {

/// e^x = power (1 + r + rest), with r from log(3/4) to log(3/2). Because 1 + r + rest is at least
/// 3/4, neither it nor e^x - 1 loses digits.
template <class Number>
struct SplitExp {
  Number power;
  Number r;
  Number rest;     ///< e^r - 1 - r
  Number rounded;  ///< rounding error of r, to be added to r

  /// e^x
  [[nodiscard]] POPFLOW_MATH_INLINE Number value() const { return power + power * (r + rest); }
  /// e^x - 1 for x <= 36
  [[nodiscard]] POPFLOW_MATH_INLINE Number less_one() const {
    return power * (r + (rest + rounded)) + (power - 1.0);
  }
};

/// If `power` is used, |x| must be so small that 2^k is a normal number. Sets `shifted` to
/// kRound + k.
template <class Number>
POPFLOW_MATH_INLINE SplitExp<Number> split_exp(const Number& x, Number& shifted) {
  constexpr double kLog2e = 0x1.71547652b82fep0;
  constexpr double kOffset = 0.08496250072115619;  // log2(3/2) - 1/2: k becomes 1 at log(3/2)
  constexpr double kLn2High = 0x1.62e42feep-1;     // its low bits are 0: k * kLn2High is exact
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  shifted = (x * kLog2e - kOffset) + kRound;
  const Number k = shifted - kRound;
  const Number high = x - k * kLn2High;
  const Number low = k * kLn2Low;
  const Number r = high - low;
  const Number r2 = r * r;
  // (e^r - 1 - r)/r^2, minimax to 2^-61 of e^r - 1. Even and odd powers are separate to shorten the
  // dependency chain.
  Number even = r2 * 2.208554207896740395e-09 + 2.755452927091976817e-07;
  Number odd = r2 * 2.507194525611331573e-08 + 2.75573238892654086e-06;
  even = even * r2 + 2.480158970008876669e-05;
  odd = odd * r2 + 0.0001984126982719216993;
  even = even * r2 + 0.001388888888796903061;
  odd = odd * r2 + 0.008333333333338719534;
  even = even * r2 + 0.04166666666666812846;
  odd = odd * r2 + 0.1666666666666666019;
  even = even * r2 + 0.5;
  return {power_of_two(shifted), r, r2 * (even + r * odd), (high - r) - low};
}

template <class Number>
POPFLOW_MATH_INLINE Number exp_of(const Number& x) {
  Number y = if_less(x, -746.0, Number(-746.0), x);
  y = if_less(710.0, y, Number(710.0), y);
  Number shifted;
  const SplitExp<Number> split = split_exp(y, shifted);
  return ((1.0 + (split.r + split.rest)) * lower_half_power(shifted)) * upper_half_power(shifted);
}

template <class Number>
POPFLOW_MATH_INLINE Number expm1_of(const Number& x) {
  Number y = if_less(x, -708.0, Number(-708.0), x);
  y = if_less(710.0, y, Number(710.0), y);
  Number shifted;
  const SplitExp<Number> split = split_exp(y, shifted);
  // 2^1024 overflows, but half of it does not.
  const Number half = power_of_two(shifted - 1.0);
  const Number part = half * (split.r + (split.rest + split.rounded));
  // Adds the two smaller terms first: `half - 0.5` is exact only up to 2^52.
  const Number value = if_less(x, 30.0, part + (half - 0.5), (part - 0.5) + half) * 2.0;
  // Halving the smallest numbers would lose their last digit.
  return with_sign(if_less(magnitude(x), 0x1p-54, magnitude(x), magnitude(value)), x);
}

/// e^x and e^x - 1.
template <class Number>
struct Exponentials {
  Number value, less_one;
};

template <class Number>
POPFLOW_MATH_INLINE Exponentials<Number> exponentials_of(const Number& x) {
  Number shifted;
  const SplitExp<Number> split = split_exp(Number(if_less(x, -708.0, Number(-708.0), x)), shifted);
  return {split.value(), split.less_one()};
}

/// e^x within 1 unit in the last place.
POPFLOW_MATH_INLINE double exp(double x) { return exp_of(x); }
/// e^x - 1 within 1 unit in the last place.
POPFLOW_MATH_INLINE double expm1(double x) { return expm1_of(x); }
/// exp(x) and expm1(x) for x <= 0, at the cost of one function: the same bits down to -704, and
/// below -708 the values at -708.
POPFLOW_MATH_INLINE Exponentials<double> exponentials(double x) { return exponentials_of(x); }

}  // namespace popflow::math
