#pragma once

#include <cmath>

#include "popflow/math/number.hpp"

namespace popflow::math {

/// `yes` if `condition` holds, else `no`; for a Pack, in each lane. Both arguments are evaluated.
POPFLOW_MATH_INLINE double select(bool condition, double yes, double no) {
  return condition ? yes : no;
}

/// Smaller and larger of two numbers, with the choice of std::min() and std::max(): `a` if the two
/// are equal, or one is NaN.
POPFLOW_MATH_INLINE double min(double a, double b) { return b < a ? b : a; }
POPFLOW_MATH_INLINE double max(double a, double b) { return a < b ? b : a; }

POPFLOW_MATH_INLINE double abs(double x) { return std::abs(x); }

/// Whether a condition holds: for a Pack, in any lane.
POPFLOW_MATH_INLINE bool any(bool condition) { return condition; }

// Class types: functions found by argument-dependent lookup.
namespace beside {
void select() = delete;
void min() = delete;
void max() = delete;
void abs() = delete;
void any() = delete;

template <class Condition, class Yes, class No>
POPFLOW_MATH_INLINE auto select_of(const Condition& condition, const Yes& yes, const No& no) {
  return select(condition, yes, no);
}
template <class A, class B>
POPFLOW_MATH_INLINE auto min_of(const A& a, const B& b) {
  return min(a, b);
}
template <class A, class B>
POPFLOW_MATH_INLINE auto max_of(const A& a, const B& b) {
  return max(a, b);
}
template <class N>
POPFLOW_MATH_INLINE auto abs_of(const N& x) {
  return abs(x);
}
template <class Condition>
POPFLOW_MATH_INLINE bool any_of(const Condition& condition) {
  return any(condition);
}
}  // namespace beside

template <class Condition, class Yes, class No>
requires(NumberClass<Condition> || NumberClass<Yes> || NumberClass<No>) POPFLOW_MATH_INLINE
    auto select(const Condition& condition, const Yes& yes, const No& no) {
  return beside::select_of(condition, yes, no);
}
template <class A, class B>
requires(NumberClass<A> || NumberClass<B>) POPFLOW_MATH_INLINE auto min(const A& a, const B& b) {
  return beside::min_of(a, b);
}
template <class A, class B>
requires(NumberClass<A> || NumberClass<B>) POPFLOW_MATH_INLINE auto max(const A& a, const B& b) {
  return beside::max_of(a, b);
}
template <NumberClass N>
POPFLOW_MATH_INLINE auto abs(const N& x) {
  return beside::abs_of(x);
}
template <NumberClass Condition>
POPFLOW_MATH_INLINE bool any(const Condition& condition) {
  return beside::any_of(condition);
}

}  // namespace popflow::math
