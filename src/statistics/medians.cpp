#include "statistics/medians.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>

#include "popflow/random.hpp"
#include "statistics/numbers.hpp"
#include "statistics/resampling.hpp"

namespace popflow {

namespace {

double median_of_sorted(const std::vector<double>& values) {
  const std::size_t n = values.size();
  if (n == 0) return kNoNumber;
  return n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

/// Largest k for which the k-th smallest of n values exceeds the median with at most this
/// probability; 0 if there is none.
std::size_t rank_below_median(std::size_t n, double tail) {
  const boost::math::binomial_distribution<> below(static_cast<double>(n), 0.5);
  std::size_t low = 0, high = n / 2 + 1;
  while (high - low > 1) {
    const std::size_t k = (low + high) / 2;
    (boost::math::cdf(below, static_cast<double>(k - 1)) <= tail ? low : high) = k;
  }
  return low;
}

}  // namespace

PassageTimes::PassageTimes(std::vector<double> times, double end, bool exact)
    : times_(std::move(times)), end_(end), exact_(exact) {
  std::sort(times_.begin(), times_.end());
}

std::size_t PassageTimes::reached() const {
  return static_cast<std::size_t>(
      std::count_if(times_.begin(), times_.end(), [](double time) { return std::isfinite(time); }));
}

double PassageTimes::median() const { return median_of_sorted(times_); }

Interval PassageTimes::interval(double level) const {
  if (exact_) {
    const double time = median();
    return {std::isfinite(time) ? time : end_, time};
  }
  const std::size_t rank = rank_below_median(runs(), (1 - level) / 2);
  if (rank == 0) return {-kUnbounded, kUnbounded};
  return {std::min(times_[rank - 1], end_), times_[runs() - rank]};
}

Interval median_difference(const PassageTimes& first, const PassageTimes& second, double level) {
  const double m1 = first.median(), m2 = second.median();
  if (!std::isfinite(m1) || !std::isfinite(m2)) {
    const bool both = !first.exact() && !second.exact();
    const double of_each = both ? (1 + level) / 2 : level;
    const Interval a = first.interval(of_each), b = second.interval(of_each);
    return {b.low - a.high, b.high - a.low};
  }
  const Interval a = first.interval(level), b = second.interval(level);
  return {m2 - m1 - std::hypot(m2 - b.low, a.high - m1),
          m2 - m1 + std::hypot(b.high - m2, m1 - a.low)};
}

Interval paired_median_difference(const std::vector<std::pair<double, double>>& times, double level,
                                  std::uint64_t seed) {
  std::vector<double> lows, highs;
  for (std::size_t draw = 0; draw < kPermutations; ++draw) {
    RandomStream random(seed, Purpose::statistics, 2, draw);
    std::vector<double> first, second;
    for (std::size_t run = 0; run < times.size(); ++run) {
      const auto& [a, b] = times[random.below(times.size())];
      first.push_back(a);
      second.push_back(b);
    }
    std::sort(first.begin(), first.end());
    std::sort(second.begin(), second.end());
    const double apart = median_of_sorted(second) - median_of_sorted(first);
    // The difference of two infinite medians is unknown, and so is its bound.
    highs.push_back(std::isnan(apart) ? kUnbounded : apart);
    lows.push_back(std::isnan(apart) ? kUnbounded : -apart);
  }
  const double of_side = (1 + level) / 2;
  return {-quantile_of(lows, of_side), quantile_of(highs, of_side)};
}

}  // namespace popflow
