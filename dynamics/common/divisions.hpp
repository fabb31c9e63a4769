#pragma once

#include <concepts>

#include "popflow/math.hpp"

namespace popflow {

// Divisions in formulas for any type of number. A double divides where the formula says so. In
// lanes a division of sixteen numbers takes as long as the rest of a small formula, so divisions
// are postponed or shared.

/// A number by which many others are divided. Lanes multiply by its inverse.
template <class Number>
struct Divisor {
  Number of, inverse;

  friend POPFLOW_MATH_INLINE Number operator/(const Number& a, const Divisor& b) {
    if constexpr (std::same_as<Number, double>)
      return a / b.of;
    else
      return a * b.inverse;
  }
};
inline Divisor<double> divisor(double of) { return {of, 1 / of}; }

/// A quotient whose division is postponed until something is divided by the quotient.
template <class Number>
struct Quotient {
  Number numerator, denominator;

  friend POPFLOW_MATH_INLINE Quotient operator+(const Quotient& a, const Quotient& b) {
    return {a.numerator * b.denominator + b.numerator * a.denominator,
            a.denominator * b.denominator};
  }
  friend POPFLOW_MATH_INLINE Quotient operator+(const Quotient& a, const Number& b) {
    return {a.numerator + b * a.denominator, a.denominator};
  }
  friend POPFLOW_MATH_INLINE Quotient operator*(const Number& a, const Quotient& b) {
    return {a * b.numerator, b.denominator};
  }
  friend POPFLOW_MATH_INLINE Quotient operator*(const Quotient& a, const Quotient& b) {
    return {a.numerator * b.numerator, a.denominator * b.denominator};
  }
  friend POPFLOW_MATH_INLINE Number operator/(const Number& a, const Quotient& b) {
    return a * b.denominator / b.numerator;
  }
};

/// Quotient numerator/denominator, divided when it is used.
template <math::NumberClass Number>
POPFLOW_MATH_INLINE Quotient<Number> over(const Number& numerator, const Number& denominator) {
  return {numerator, denominator};
}
POPFLOW_MATH_INLINE double over(double numerator, double denominator) {
  return numerator / denominator;
}

/// yes() if the condition holds, otherwise no(); for a double only one of them is computed.
template <class Yes, class No>
POPFLOW_MATH_INLINE auto either(bool condition, Yes yes, No no) {
  return condition ? yes() : no();
}
template <math::NumberClass Condition, class Yes, class No>
POPFLOW_MATH_INLINE auto either(const Condition& condition, Yes yes, No no) {
  const auto a = yes(), b = no();
  if constexpr (requires { a.numerator; })
    return decltype(yes()){math::select(condition, a.numerator, b.numerator),
                           math::select(condition, a.denominator, b.denominator)};
  else
    return math::select(condition, a, b);
}

}  // namespace popflow
