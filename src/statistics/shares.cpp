#include "statistics/shares.hpp"

#include <boost/math/distributions/binomial.hpp>
#include <cmath>

namespace popflow {

Interval Share::interval(double level) const {
  if (exact) return {value(), value()};
  using Binomial = boost::math::binomial_distribution<>;
  const auto n = static_cast<double>(of), k = static_cast<double>(count);
  const double tail = (1 - level) / 2;
  return {count == 0 ? 0 : Binomial::find_lower_bound_on_p(n, k, tail),
          count == of ? 1 : Binomial::find_upper_bound_on_p(n, k, tail)};
}

Interval share_difference(const Share& first, const Share& second, double level) {
  const Interval a = first.interval(level), b = second.interval(level);
  const double p1 = first.value(), p2 = second.value();
  return {p2 - p1 - std::hypot(p2 - b.low, a.high - p1),
          p2 - p1 + std::hypot(b.high - p2, p1 - a.low)};
}

}  // namespace popflow
