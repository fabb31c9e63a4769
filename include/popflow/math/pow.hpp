#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "popflow/math/exp.hpp"
#include "popflow/math/pairs.hpp"

namespace popflow::math {

/// log(x) for 0 < x < infinity, with a relative error of 2^-66.
inline TwoTerms<double> log_in_two(double x) {
  constexpr double kLn2High = 0x1.62e42feep-1;  // its low bits are 0: k * kLn2High is exact
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  constexpr TwoTerms<double> kTwoThirds = {0x1.5555555555555p-1, 0x1.5555555555555p-55};
  const bool small = x < std::numeric_limits<double>::min();
  const double y = small ? x * 0x1p54 : x;
  const double k = exponent_bits(y) - (small ? 0x1p52 + 1023 + 54 : 0x1p52 + 1023);
  const double f = mantissa(y) - 1;
  // log(1 + f) = 2 artanh(s) = 2s + s z (2/3 + z (2/5 ...)), z = s^2.
  const TwoTerms<double> below = ordered_sum(2, f);
  const double s = f / below.high;
  const TwoTerms<double> back = exact_product(s, below.high);
  const TwoTerms<double> s2 = {s, (((f - back.high) - back.low) - s * below.low) / below.high};
  const TwoTerms<double> z2 = product(s2, s2);
  const double z = z2.high;
  double sum = z * 0.1198944793438686679 + 0.116747675870470552;
  sum = sum * z + 0.1333631985065361625;
  sum = sum * z + 0.1538455681028415845;
  sum = sum * z + 0.181818188711575679;
  sum = sum * z + 0.222222222175301104;
  sum = sum * z + 0.2857142857144513437;
  sum = sum * z + 0.3999999999999998002;
  TwoTerms<double> factor = ordered_sum(kTwoThirds.high, z * sum);
  factor.low += kTwoThirds.low + 0.4 * z2.low;
  const TwoTerms<double> beyond = product(product(z2, factor), s2);
  TwoTerms<double> of_f = ordered_sum(2 * s, beyond.high);
  of_f.low += 2 * s2.low + beyond.low;
  const TwoTerms<double> all = ordered_sum(k * kLn2High, of_f.high);
  return ordered_sum(all.high, all.low + (of_f.low + k * kLn2Low));
}

/// e^(x.high + x.low) times a factor; a subnormal result is rounded only once, at the end.
inline double exp_of_two(const TwoTerms<double>& x, double factor = 1) {
  if (!(x.high > -746)) return 0;
  if (!(x.high < 710)) return std::numeric_limits<double>::infinity();
  double shifted = 0;
  const SplitExp<double> split = split_exp(x.high, shifted);
  const TwoTerms<double> first = ordered_sum(1, split.r);
  const double low = x.low * (first.high + split.rest);
  const double value = first.high + (first.low + (split.rest + (split.rounded + low)));
  return value * factor * lower_half_power(shifted) * upper_half_power(shifted);
}

/// x^y within 1 unit in the last place, with C's special values (x^0 = 1^y = 1, even of NaN).
inline double pow(double x, double y) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (y == 0 || x == 1) return 1;
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<double>::quiet_NaN();
  const double size = magnitude(x);
  if (magnitude(y) == kInfinity) {
    if (size == 1) return 1;
    return (size > 1) == (y > 0) ? kInfinity : 0;
  }
  const bool all_even = magnitude(y) >= 0x1p53;
  const bool whole = all_even || y == static_cast<double>(static_cast<std::int64_t>(y));
  const bool odd = !all_even && whole && static_cast<std::int64_t>(y) % 2 != 0;
  const double sign = odd ? x : 0.0;  // provides the sign bit of the power
  if (size == 0) return with_sign(y < 0 ? kInfinity : 0, sign);
  if (size == kInfinity) return with_sign(y < 0 ? 0 : kInfinity, sign);
  if (x < 0 && !whole) return std::numeric_limits<double>::quiet_NaN();
  if (size == 1) return with_sign(1, sign);
  // With a larger exponent all powers overflow or vanish.
  const double exponent = y > 0x1p64 ? 0x1p64 : y < -0x1p64 ? -0x1p64 : y;
  const TwoTerms<double> logarithm = log_in_two(size);
  TwoTerms<double> in_all = exact_product(exponent, logarithm.high);
  in_all.low += exponent * logarithm.low;
  return with_sign(exp_of_two(in_all), sign);
}

/// sqrt(x^2 + y^2) within 1 unit in the last place, without intermediate overflow or underflow.
inline double hypot(double x, double y) {
  const double a = magnitude(x), b = magnitude(y);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (a == kInfinity || b == kInfinity) return kInfinity;
  const double larger = a < b ? b : a;
  const double scale = larger > 0x1p500 ? 0x1p-600 : larger < 0x1p-400 ? 0x1p600 : 1.0;
  const double c = larger * scale, d = (a < b ? a : b) * scale;
  const TwoTerms<double> c2 = exact_product(c, c), d2 = exact_product(d, d);
  const TwoTerms<double> sum = ordered_sum(c2.high, d2.high);
  const double root = std::sqrt(sum.high);
  if (!(root > 0)) return root;
  const TwoTerms<double> square = exact_product(root, root);
  const double left = ((sum.high - square.high) - square.low) + (sum.low + (c2.low + d2.low));
  return (root + left / (2 * root)) * (1 / scale);
}

}  // namespace popflow::math
