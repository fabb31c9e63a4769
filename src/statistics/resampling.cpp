#include "statistics/resampling.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "popflow/random.hpp"
#include "statistics/numbers.hpp"

namespace popflow {

namespace {

/// Adds up values and squares over the chosen rows, at `times` times from `start` on.
void add_rows(const Centred& data, std::span<const std::size_t> rows, std::size_t start,
              std::size_t times, std::vector<double>& sum, std::vector<double>& squares) {
  sum.assign(times, 0);
  squares.assign(times, 0);
  for (const std::size_t row : rows) {
    const double* x = data.rows.data() + row * data.times + start;
    for (std::size_t t = 0; t < times; ++t) {
      sum[t] += x[t];
      squares[t] += x[t] * x[t];
    }
  }
}

/// Sums and sums of squares over all rows.
struct Totals {
  std::vector<std::size_t> rows;  ///< indices of the rows
  std::vector<double> sum, squares;

  Totals(const Centred& data, std::size_t number) : rows(number) {
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    add_rows(data, rows, 0, data.times, sum, squares);
  }
};

/// Smallest variance of a mean that shows in rows whose values jump, as an accuracy does: that of
/// one row which differs by the smallest jump. It holds where at least half of the rows have one
/// value: then many draws have this value only, and their lack of scatter is due to its resolution.
/// 0 elsewhere.
double least_variance(const Centred& data, std::size_t begin, std::size_t rows, std::size_t time) {
  std::vector<double> values;
  values.reserve(rows);
  for (std::size_t row = begin; row < begin + rows; ++row)
    values.push_back(data.rows[row * data.times + time]);
  std::sort(values.begin(), values.end());
  const double alike = 1e-12 * (values.back() - values.front());
  double jump = kUnbounded;
  std::size_t number = 1, most = 1;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const double apart = values[i] - values[i - 1];
    number = apart > alike ? 1 : number + 1;
    if (apart > alike) jump = std::min(jump, apart);
    most = std::max(most, number);
  }
  if (2 * most < rows || std::isinf(jump)) return 0;
  return jump * jump / static_cast<double>(rows) / static_cast<double>(rows);
}

/// Squared standard error of a group's mean, from its sums.
double variance_of_mean(double n, double sum, double squares) {
  return std::max(0.0, squares - sum * (sum / n)) / (n - 1) / n;
}

/// |difference of means| / standard error from the sums of two groups; 0 where nothing varies.
double studentised(double n1, double sum1, double squares1, double n2, double sum2,
                   double squares2) {
  const double error =
      std::sqrt(variance_of_mean(n1, sum1, squares1) + variance_of_mean(n2, sum2, squares2));
  return error > 0 ? std::abs(sum2 / n2 - sum1 / n1) / error : 0;
}

}  // namespace

void append(Centred& to, const Paths& paths, const std::vector<double>& mean,
            const std::vector<double>& z) {
  to.times = paths.times;
  for (std::size_t run = 0; run < paths.runs; ++run)
    for (std::size_t t = 0; t < paths.times; ++t)
      to.rows.push_back(std::isnan(z[t]) ? 0 : paths.at(run, t) - mean[t]);
}

std::vector<double> split_maxima(const Centred& data, std::size_t n1, std::size_t n2,
                                 std::uint64_t seed, Workers& workers) {
  const Totals all(data, n1 + n2);
  std::vector<double> maxima(kPermutations);
  workers.run(kPermutations, kPermutations * all.rows.size() * data.times, [&](std::size_t i) {
    RandomStream random(seed, Purpose::statistics, 0, i);
    std::vector<std::size_t> order = all.rows;
    for (std::size_t k = 0; k < n1; ++k)
      std::swap(order[k], order[k + random.below(order.size() - k)]);
    std::vector<double> sum, squares;
    add_rows(data, std::span(order).first(n1), 0, data.times, sum, squares);
    double largest = 0;
    for (std::size_t t = 0; t < data.times; ++t)
      largest = std::max(
          largest, studentised(static_cast<double>(n1), sum[t], squares[t], static_cast<double>(n2),
                               all.sum[t] - sum[t], all.squares[t] - squares[t]));
    maxima[i] = largest;
  });
  return maxima;
}

Extremes redrawn_extremes(const Centred& data, std::size_t n1, std::size_t n2, DrawnFrom from,
                          double level, std::uint64_t seed, Workers& workers) {
  constexpr double kAlike = 1e-12;      // relative to the variance of the rows
  constexpr std::size_t kBlock = 1000;  // times; the draws' z of a block take 16 MB
  const std::size_t rows = n1 + n2;
  const Totals all(data, rows);
  const bool pooled = from == DrawnFrom::pooled;
  const auto m1 = static_cast<double>(n1), m2 = static_cast<double>(n2);
  Extremes extremes{std::vector<double>(kRedraws), std::vector<double>(kRedraws), {}};
  std::vector<double> z(kRedraws * std::min(kBlock, data.times)), one(kRedraws);
  for (std::size_t start = 0; start < data.times; start += kBlock) {
    const std::size_t times = std::min(kBlock, data.times - start);
    std::vector<double> least1, least2;
    for (std::size_t t = start; t < start + times; ++t) {
      least1.push_back(least_variance(data, 0, n1, t));
      least2.push_back(n2 > 0 ? least_variance(data, n1, n2, t) : 0);
    }
    workers.run(kRedraws, kRedraws * rows * times, [&](std::size_t i) {
      RandomStream random(seed, Purpose::statistics, pooled ? 4 : 1, i);
      std::vector<std::size_t> drawn;
      for (std::size_t k = 0; k < n1; ++k) drawn.push_back(random.below(pooled ? rows : n1));
      for (std::size_t k = 0; k < n2; ++k)
        drawn.push_back(pooled ? random.below(rows) : n1 + random.below(n2));
      std::vector<double> sum1, squares1, sum2, squares2;
      add_rows(data, std::span(drawn).first(n1), start, times, sum1, squares1);
      add_rows(data, std::span(drawn).subspan(n1), start, times, sum2, squares2);
      for (std::size_t t = 0; t < times; ++t) {
        double& here = z[t * kRedraws + i];
        here = 0;
        const double squares = all.squares[start + t];
        if (squares == 0) continue;
        double variance = std::max(least1[t], variance_of_mean(m1, sum1[t], squares1[t]));
        double apart = -sum1[t] / m1;
        if (n2 > 0) {
          variance += std::max(least2[t], variance_of_mean(m2, sum2[t], squares2[t]));
          apart += sum2[t] / m2;
        }
        const bool alike = variance <= kAlike * squares / (m1 + m2) / (m1 + m2);
        here =
            alike ? std::copysign(apart == 0 ? 0 : kUnbounded, apart) : apart / std::sqrt(variance);
        extremes.high[i] = std::max(extremes.high[i], here);
        extremes.low[i] = std::max(extremes.low[i], -here);
      }
    });
    for (std::size_t t = 0; t < times; ++t) {
      std::copy_n(z.begin() + static_cast<std::ptrdiff_t>(t * kRedraws), kRedraws, one.begin());
      const double above = quantile_of(one, (1 + level) / 2);
      for (double& x : one) x = -x;
      extremes.of_each.push_back(std::max(above, quantile_of(one, (1 + level) / 2)));
    }
  }
  return extremes;
}

double half_width(const Extremes& extremes, double level) {
  const double one_sided = (1 + level) / 2;
  return std::max(quantile_of(extremes.high, one_sided), quantile_of(extremes.low, one_sided));
}

double two_sided_p_value(double observed, const Extremes& extremes) {
  return std::min(
      1.0, 2 * std::max(p_value_of(observed, extremes.high), p_value_of(observed, extremes.low)));
}

double p_value_of(double observed, const std::vector<double>& maxima) {
  const auto beyond = std::count_if(maxima.begin(), maxima.end(),
                                    [&](double m) { return m >= observed * (1 - 1e-10); });
  return static_cast<double>(beyond + 1) / static_cast<double>(maxima.size() + 1);
}

double quantile_of(std::vector<double> values, double level) {
  const auto rank =
      static_cast<std::size_t>(std::ceil(level * static_cast<double>(values.size() + 1)));
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::min(rank, values.size())) - 1;
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace popflow
