#pragma once

#include <cmath>

#include "popflow/math/choice.hpp"
#include "popflow/math/erf.hpp"
#include "popflow/math/exp.hpp"
#include "popflow/math/hyperbolic.hpp"
#include "popflow/math/log.hpp"
#include "popflow/math/pow.hpp"
#include "popflow/math/turn.hpp"

/// Elementary functions for the formulas of a System, with the same bits on every machine, with
/// every C library, alone and in SIMD lanes. (The C library's functions differ in their last bits
/// between versions, and between machines with and without fused multiply-adds.)
///
/// `math::exp(x)` takes a double, a Pack, or any number class with its own function exp(), found by
/// argument-dependent lookup. The other functions here take the same types, as do those of
/// math/choice.hpp, which a formula calls where code for doubles alone would branch.
///
/// sqrt is rounded correctly; exp, expm1, log, log1p, tanh, erf, pow and hypot are within 1 unit in
/// the last place; asinh and softplus within 2; sinh, cosh and logistic within 3; erfc within 4.
/// Code that calls these functions must be compiled with -ffp-contract=off, which CMake's
/// popflow_add_program() sets.
namespace popflow::math {

using std::sqrt;

// For class types, calls the functions that argument-dependent lookup finds.
namespace beside {
void exp() = delete;
void expm1() = delete;
void exponentials() = delete;
void log() = delete;
void log1p() = delete;
void tanh() = delete;
void erf() = delete;
void pow() = delete;
void sqrt() = delete;

template <class N>
POPFLOW_MATH_INLINE auto exp_of(const N& x) {
  return exp(x);
}
template <class N>
POPFLOW_MATH_INLINE auto expm1_of(const N& x) {
  return expm1(x);
}
template <class N>
POPFLOW_MATH_INLINE auto exponentials_of(const N& x) {
  return exponentials(x);
}
template <class N>
POPFLOW_MATH_INLINE auto log_of(const N& x) {
  return log(x);
}
template <class N>
POPFLOW_MATH_INLINE auto log1p_of(const N& x) {
  return log1p(x);
}
template <class N>
POPFLOW_MATH_INLINE auto tanh_of(const N& x) {
  return tanh(x);
}
template <class N>
POPFLOW_MATH_INLINE auto erf_of(const N& x) {
  return erf(x);
}
template <class N, class Power>
POPFLOW_MATH_INLINE auto pow_of(const N& x, const Power& y) {
  return pow(x, y);
}
template <class N>
POPFLOW_MATH_INLINE auto sqrt_of(const N& x) {
  return sqrt(x);
}
}  // namespace beside

template <NumberClass N>
POPFLOW_MATH_INLINE auto exp(const N& x) {
  return beside::exp_of(x);
}
template <NumberClass N>
POPFLOW_MATH_INLINE auto expm1(const N& x) {
  return beside::expm1_of(x);
}
template <NumberClass N>
POPFLOW_MATH_INLINE auto exponentials(const N& x) {
  return beside::exponentials_of(x);
}
template <NumberClass N>
POPFLOW_MATH_INLINE auto log(const N& x) {
  return beside::log_of(x);
}
template <NumberClass N>
POPFLOW_MATH_INLINE auto log1p(const N& x) {
  return beside::log1p_of(x);
}
template <NumberClass N>
POPFLOW_MATH_INLINE auto tanh(const N& x) {
  return beside::tanh_of(x);
}
template <NumberClass N>
POPFLOW_MATH_INLINE auto erf(const N& x) {
  return beside::erf_of(x);
}
template <NumberClass N, class Power>
POPFLOW_MATH_INLINE auto pow(const N& x, const Power& y) {
  return beside::pow_of(x, y);
}
template <NumberClass N>
POPFLOW_MATH_INLINE auto sqrt(const N& x) {
  return beside::sqrt_of(x);
}

/// 1/(1 + e^-x), without overflow.
inline double logistic(double x) {
  const double small = exp(-magnitude(x));
  return (x < 0 ? small : 1) / (1 + small);
}

/// log(1 + e^x), without overflow.
inline double softplus(double x) { return (x > 0 ? x : 0) + log1p(exp(-magnitude(x))); }

}  // namespace popflow::math
