#include "statistics/simultaneous.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "statistics/distributions.hpp"
#include "statistics/numbers.hpp"
#include "statistics/resampling.hpp"

namespace popflow {

double PathExtent::tail(double x) const {
  if (!(x > 0)) return 1;
  if (std::isinf(x)) return 0;
  const double once = student_tail(x, degrees);
  const double excursions =
      once + length / (2 * std::numbers::pi) * std::pow(1 + x * x / degrees, -(degrees - 1) / 2);
  return std::min({1.0, times * once, excursions});
}

double PathExtent::quantile(double level) const {
  const double error = (1 - level) / 2;
  double low = student_quantile(level, degrees);
  double high = student_quantile(1 - 2 * error / std::max(1.0, times), degrees);
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (tail(middle) > error ? low : high) = middle;
  }
  return high;
}

PathExtent extent_of(const Centred& rows, std::size_t n1, std::size_t n2) {
  const std::size_t times = rows.times, all = n1 + n2;
  const auto m1 = static_cast<double>(n1), m2 = static_cast<double>(n2);
  PathExtent extent{0, 0, kUnbounded};
  std::vector<double> before(all), here(all);
  bool any_before = false;
  for (std::size_t t = 0; t < times; ++t) {
    double v1 = 0, v2 = 0;
    for (std::size_t run = 0; run < all; ++run) {
      const double x = rows.rows[run * times + t];
      const double m = run < n1 ? m1 : m2;
      here[run] = (run < n1 ? x : -x) / std::sqrt(m * (m - 1));
      (run < n1 ? v1 : v2) += here[run] * here[run];
    }
    const double variance = v1 + v2;
    if (!(variance > 0)) continue;
    extent.times += 1;
    const double s1 = v1 / variance, s2 = v2 / variance;
    extent.degrees =
        std::min(extent.degrees, 1 / (s1 * s1 / (m1 - 1) + (n2 > 0 ? s2 * s2 / (m2 - 1) : 0)));
    double along = 0;
    for (std::size_t run = 0; run < all; ++run) {
      here[run] /= std::sqrt(variance);
      along += here[run] * before[run];
    }
    if (any_before) extent.length += std::acos(std::clamp(along, -1.0, 1.0));
    any_before = true;
    std::swap(before, here);
  }
  return extent;
}

}  // namespace popflow
