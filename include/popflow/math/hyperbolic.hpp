#pragma once

#include <cmath>

#include "popflow/math/exp.hpp"
#include "popflow/math/log.hpp"

namespace popflow::math {

template <class Number>
POPFLOW_MATH_INLINE Number tanh_of(const Number& x) {
  const Number size = magnitude(x);
  // Near 0: x + x z (...), the minimax polynomial to 2^-60.
  const Number z = x * x;
  Number factor = z * -1.952096175068702028e-05 + 8.335995664653851503e-05;
  factor = factor * z - 0.000233412645183078384;
  factor = factor * z + 0.0005884570141904209946;
  factor = factor * z - 0.001455545974993052803;
  factor = factor * z + 0.003592092531018942214;
  factor = factor * z - 0.008863232652625325711;
  factor = factor * z + 0.02186948838909252152;
  factor = factor * z - 0.05396825396387821411;
  factor = factor * z + 0.1333333333332683279;
  factor = factor * z - 0.3333333333333329818;
  const Number near = size + size * (z * factor);
  // Further out: 1 - 2/(1 + e^2|x|), which is 1 beyond 20, with the rounding errors of the sum and
  // the difference.
  const Number twice = if_less(20.0, size, Number(40.0), size + size);
  Number shifted;
  const SplitExp<Number> split = split_exp(twice, shifted);
  const Number more = split.rest + split.rounded;
  const Number growth = split.r + more;
  const Number sum = 1.0 + growth;
  const Number high = split.power * sum;
  const Number low = split.power * (((1.0 - sum) + growth) + ((split.r - growth) + more));
  const Number total = high + 1.0;
  const Number left = ((high - total) + 1.0) + low;
  const Number part = 2.0 / total;
  const Number by = 0.5 * part * part * left;
  const Number rest = 1.0 - part;
  const Number far = rest + (((1.0 - rest) - part) + by);
  const Number value = if_less(size, 0.55, near, far);
  return with_sign(if_less(size, 0x1p-28, size, value), x);
}

/// tanh(x) within 1 unit in the last place.
POPFLOW_MATH_INLINE double tanh(double x) { return tanh_of(x); }

/// sinh(x), within 3 units in the last place.
inline double sinh(double x) {
  const double size = magnitude(x);
  if (size > 40) {  // e^x / 2 without overflow of e^x
    const double root = exp(0.5 * size);
    return with_sign(0.5 * root * root, x);
  }
  const double growth = expm1(size);
  return with_sign(0.5 * (growth + growth / (growth + 1)), x);
}

/// cosh(x), within 3 units in the last place.
inline double cosh(double x) {
  const double size = magnitude(x);
  if (size > 40) {
    const double root = exp(0.5 * size);
    return 0.5 * root * root;
  }
  const double growth = expm1(size);
  return 1 + growth * growth / (2 * (growth + 1));
}

/// arsinh(x), within 2 units in the last place.
inline double asinh(double x) {
  const double size = magnitude(x);
  if (size > 0x1p28) return with_sign(log(size) + 0x1.62e42fefa39efp-1, x);
  const double square = size * size;
  return with_sign(log1p(size + square / (1 + std::sqrt(1 + square))), x);
}

}  // namespace popflow::math
