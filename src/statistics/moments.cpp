#include "statistics/moments.hpp"

#include <algorithm>
#include <cmath>

#include "popflow/random.hpp"
#include "statistics/distributions.hpp"
#include "statistics/numbers.hpp"
#include "statistics/resampling.hpp"

namespace popflow {

namespace {

/// Standard error of log s by the delta method.
double error_of_log(double n, double kurtosis) {
  return 0.5 * std::sqrt(std::max(0.0, kurtosis - (n - 3) / (n - 1)) / n);
}

/// Ends of the studentised bootstrap's interval of log(deviation), relative to log s, at one time;
/// {0, 0} if no draw varies.
struct Ends {
  double low = 0, high = 0;
};
std::vector<Ends> redrawn_ends(const Paths& paths, const std::vector<Summary>& of, double level,
                               std::uint64_t seed, Workers& workers) {
  std::vector<std::vector<double>> z(kPermutations, std::vector<double>(paths.times, kNoNumber));
  workers.run(kPermutations, kPermutations * paths.runs * paths.times, [&](std::size_t i) {
    RandomStream random(seed, Purpose::statistics, 3, i);
    struct Sums {
      double number = 0, first = 0, second = 0, third = 0, fourth = 0;
    };
    std::vector<Sums> sums(paths.times);
    for (std::size_t k = 0; k < paths.runs; ++k) {
      const double* row = paths.values.data() + random.below(paths.runs) * paths.times;
      for (std::size_t t = 0; t < paths.times; ++t) {
        if (!std::isfinite(row[t])) continue;
        const double d = row[t] - of[t].mean, square = d * d;
        Sums& s = sums[t];
        s.number += 1;
        s.first += d;
        s.second += square;
        s.third += square * d;
        s.fourth += square * square;
      }
    }
    for (std::size_t t = 0; t < paths.times; ++t) {
      const Sums& s = sums[t];
      const double n = s.number, m = s.first / n;
      const double squares = s.second - n * m * m;
      // A draw that repeats a single run carries no information.
      if (n < 2 || !(squares > kRounding * (of[t].number - 1) * of[t].variance)) continue;
      const double fourth =
          s.fourth - 4 * m * s.third + 6 * m * m * s.second - 3 * n * m * m * m * m;
      const double error = error_of_log(n, n * fourth / (squares * squares));
      // The resampled population has the sample's variance with divisor n.
      const double from = of[t].variance * (of[t].number - 1) / of[t].number;
      if (error > 0) z[i][t] = 0.5 * std::log(squares / (n - 1) / from) / error;
    }
  });
  std::vector<Ends> ends(paths.times);
  for (std::size_t t = 0; t < paths.times; ++t) {
    std::vector<double> drawn;
    for (const std::vector<double>& one : z)
      if (!std::isnan(one[t])) drawn.push_back(one[t]);
    if (drawn.empty()) continue;
    const double error = error_of_log(of[t].number, of[t].kurtosis);
    ends[t].low = -error * quantile_of(drawn, (1 + level) / 2);
    for (double& x : drawn) x = -x;
    ends[t].high = error * quantile_of(drawn, (1 + level) / 2);
  }
  return ends;
}

}  // namespace

Moments moments(const Paths& paths, double level) {
  Moments m;
  for (std::size_t t = 0; t < paths.times; ++t) {
    const Summary s = summary(paths, t);
    m.mean.push_back(s.mean);
    if (paths.exact) {
      const double zero = std::isfinite(s.mean) ? 0 : kNoNumber;
      for (auto* values : {&m.mean_low, &m.mean_high}) values->push_back(s.mean);
      for (auto* values :
           {&m.mean_error, &m.deviation, &m.deviation_low, &m.deviation_high, &m.deviation_error})
        values->push_back(zero);
      continue;
    }
    const double n = s.number;
    m.mean_error.push_back(std::sqrt(s.variance / n));
    const double quantile = n < 2 ? kNoNumber : student_quantile(level, n - 1);
    m.mean_low.push_back(s.mean - quantile * m.mean_error.back());
    m.mean_high.push_back(s.mean + quantile * m.mean_error.back());
    const double deviation = std::sqrt(s.variance);
    m.deviation.push_back(deviation);
    // Samples underestimate heavy tails, so the error is at least that of a Gaussian.
    const double error = n < 2 ? kNoNumber : error_of_log(n, std::max(s.kurtosis, 3.0));
    m.deviation_error.push_back(error);
    m.deviation_low.push_back(deviation * std::exp(-quantile * error));
    m.deviation_high.push_back(deviation * std::exp(quantile * error));
  }
  return m;
}

void allow_for_skewness(Moments& moments, const Paths& paths, double level, std::uint64_t seed,
                        Workers& workers) {
  if (paths.exact) return;
  std::vector<Summary> all;
  for (std::size_t t = 0; t < paths.times; ++t) all.push_back(summary(paths, t));
  const std::vector<Ends> ends = redrawn_ends(paths, all, level, seed, workers);
  for (std::size_t t = 0; t < paths.times; ++t) {
    const double deviation = moments.deviation[t];
    double& low = moments.deviation_low[t];
    double& high = moments.deviation_high[t];
    low = std::min(low, deviation * std::exp(ends[t].low));
    high = std::max(high, deviation * std::exp(ends[t].high));
  }
}

}  // namespace popflow
