#pragma once

#include <boost/math/tools/toms748_solve.hpp>
#include <cstdint>
#include <utility>

namespace popflow {

/// Brackets a sign change of a function to 45 bits; returns two neighbouring places. At the ends of
/// the search interval the function has the values `at_low` and `at_high`, which have different
/// signs.
template <class Function>
std::pair<double, double> bracketed_root(const Function& f, double low, double high, double at_low,
                                         double at_high) {
  std::uintmax_t iterations = 60;
  return boost::math::tools::toms748_solve(
      f, low, high, at_low, at_high, boost::math::tools::eps_tolerance<double>(45), iterations);
}

/// Like bracketed_root(), for a function that is negative at `low` and zero or positive at `high`.
/// Returns two neighbouring places; the function is negative at the first and not negative at the
/// second. If the function is zero over a stretch (a clipped quantity, a count that reaches its
/// target), the second place is the start of the stretch. A zero at a single place is returned as
/// both.
template <class Function>
std::pair<double, double> first_reached(const Function& f, double low, double high, double at_low,
                                        double at_high) {
  // A shorter stretch of zeros is due to rounding.
  constexpr double kNext = 0x1p-30;
  if (at_high > 0) {
    const auto [before, after] = bracketed_root(f, low, high, at_low, at_high);
    // Both places coincide only if the function is exactly zero there.
    if (before < after) return {before, after};
    high = after;
  }
  if (!(low < high)) return {high, high};
  const double next = high - kNext * (high - low);
  if (!(next > low)) return {high, high};
  const double at_next = f(next);
  if (at_next < 0) return {high, high};
  // Maps the zeros of the stretch to a positive number.
  const auto not_zero = [&](double place) {
    const double value = f(place);
    return value == 0 ? -at_low : value;
  };
  return bracketed_root(not_zero, low, next, at_low, at_next == 0 ? -at_low : at_next);
}

}  // namespace popflow
