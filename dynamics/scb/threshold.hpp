#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

/// Proximal maps of the l1 norm of one attention column, whose weights are stored as deviations
/// from 1/T. With soft(a, l) = sign(a) max(|a| - l, 0), the proximal map is
///   for l|a|_1                                    a <- soft(a, l)
///   for l|a|_1 on the plane of a's own sum 1'a    a <- soft(a + nu, l), where nu conserves the sum
/// The second map belongs to a flow whose gradient is projected on 1'a = 1. A column without
/// negative weights has nu = l and does not change, because the norm is constant there.
namespace popflow::scb {

/// Soft threshold of the weight a = 1/T + deviation, returned as a deviation: exactly -1/T if the
/// weight becomes zero, so that the recorded weight is exactly zero.
inline double soft_threshold_deviation(double deviation, double uniform, double by) {
  const double a = uniform + deviation;
  // Written so that a NaN remains a NaN.
  return std::abs(a) <= by ? -uniform : deviation - std::copysign(by, a);
}

/// Value and slope of a non-decreasing, piecewise linear function at a place.
struct ValueAndSlope {
  double value = 0;
  double slope = 0;
  double size = 0;  ///< size of the terms in the value, for its rounding
};

/// Root of the function `rising`, which returns a ValueAndSlope: Newton's method, kept between low
/// < 0 < high.
template <class Function>
double root_of_rising(double low, double high, const Function& rising) {
  constexpr int kEnough = 200;
  double nu = 0;
  for (int i = 0; i < kEnough; ++i) {
    const ValueAndSlope at = rising(nu);
    if (std::abs(at.value) <= std::numeric_limits<double>::epsilon() * at.size) break;
    (at.value > 0 ? high : low) = nu;
    const double newton = at.slope > 0 ? nu - at.value / at.slope : low;
    const double next = newton > low && newton < high ? newton : low + (high - low) / 2;
    if (next == nu) break;
    nu = next;
  }
  return nu;
}

/// The shift nu in [-by, by] with sum_i soft(a_i + nu, by) = sum_i a_i, where each(visit) calls
/// visit(a, count) for every weight a, which occurs `count` times.
template <class Each>
double sum_keeping_shift(double by, const Each& each) {
  // The change of the sum increases with nu, from a loss at -by to a gain at by.
  return root_of_rising(-by, by, [&](double nu) {
    ValueAndSlope gain;
    each([&](double a, double count) {
      const double moved = a + nu;
      const bool kept = std::abs(moved) > by;
      gain.value += count * ((kept ? moved - std::copysign(by, moved) : 0) - a);
      gain.slope += kept ? count : 0;
      gain.size += count * std::abs(a);
    });
    return gain;
  });
}

/// Effect of setting a column's small weights to zero.
struct Sparsifier {
  double bound = 0;  ///< weights of at least this size are kept
  /// Sum of the weights that are kept, by which the column is divided; 0: none is kept.
  double sum = 0;
  double weights = 0;  ///< number of weights that are kept
  bool without = false;

  /// The weight 1/T + deviation, as a deviation.
  [[nodiscard]] double operator()(double deviation, double uniform) const {
    const double a = uniform + deviation;
    if (std::isnan(a)) return a;
    return sum > 0 && a >= bound && a > 0 ? a / sum - uniform : -uniform;
  }
};

/// Sets weights below `share` of the column's sum to zero; each(visit) as above.
template <class Each>
Sparsifier sparse_column(double share, bool keep_largest, const Each& each) {
  double total = 0;
  double largest = 0;
  each([&](double a, double count) {
    total += count * a;
    largest = std::max(largest, a);
  });
  Sparsifier sparse{share * std::max(total, 0.0)};
  sparse.without = !(largest > 0 && largest >= sparse.bound);
  if (sparse.without && keep_largest) sparse.bound = largest;
  each([&](double a, double count) {
    if (!(a >= sparse.bound && a > 0)) return;
    sparse.sum += count * a;
    sparse.weights += count;
  });
  return sparse;
}

}  // namespace popflow::scb
