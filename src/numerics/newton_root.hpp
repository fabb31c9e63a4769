#pragma once

#include <algorithm>
#include <cmath>

namespace popflow {

/// A function's value and derivative at a place.
struct ValueAndSlope {
  double value, slope;
};

/// Root, to rounding, of a function between a and b, where its signs differ. `above` is whether the
/// function is positive at a. Uses Newton's method from `start`, safeguarded by the bracket. `f`
/// returns a ValueAndSlope.
template <class F>
double newton_root(F&& f, double a, double b, bool above, double start) {
  constexpr double kHalfOfDigits = 0x1p-40;  // the last step doubles the number of correct digits
  double x = start;
  for (int i = 0; i < 200; ++i) {
    const ValueAndSlope at = f(x);
    if (at.value == 0) break;
    ((at.value > 0) == above ? a : b) = x;
    const double wanted = x - at.value / at.slope;
    const bool inside = wanted >= std::min(a, b) && wanted <= std::max(a, b);
    const double next = inside ? wanted : a + (b - a) / 2;
    const bool close = std::abs(next - x) <= kHalfOfDigits * std::abs(next);
    x = next;
    if (close) break;
  }
  return x;
}

}  // namespace popflow
