#include "statistics/difference.hpp"

#include <algorithm>
#include <cmath>

#include "statistics/distributions.hpp"
#include "statistics/numbers.hpp"
#include "statistics/resampling.hpp"

namespace popflow {

Difference difference(const Paths& first, const Paths& second, double level, std::uint64_t seed,
                      Workers& workers) {
  Difference d;
  const std::size_t times = first.times;
  d.nothing = times > 0;
  double size = 0;
  for (const Paths* paths : {&first, &second})
    for (const double mean : means_of(*paths))
      if (std::isfinite(mean)) size = std::max(size, std::abs(mean));
  const auto is_rounding = [&](double x) { return std::abs(x) <= kRounding * size; };
  for (std::size_t t = 0; t < times; ++t) {
    const Summary a = summary(first, t), b = summary(second, t);
    const double va = first.exact ? 0 : a.variance / a.number;
    const double vb = second.exact ? 0 : b.variance / b.number;
    d.difference.push_back(b.mean - a.mean);
    d.error.push_back(std::sqrt(va + vb));
    const double of_each = (first.exact ? 0 : a.variance) + (second.exact ? 0 : b.variance);
    d.alike.push_back(va + vb > 0 ? of_each / (va + vb) : 1);
    const bool nothing = is_rounding(d.difference[t]) && is_rounding(d.error[t]);
    d.nothing = d.nothing && nothing;
    d.z.push_back(nothing ? kNoNumber : d.difference[t] / d.error[t]);
    if (std::abs(d.difference[t]) > std::abs(d.difference[d.largest])) d.largest = t;
  }
  if (first.exact && second.exact) {
    d.band = d.error;
    d.p_value = kNoNumber;
    return d;
  }
  const bool enough = (first.exact || first.runs >= 2) && (second.exact || second.runs >= 2);
  if (!enough) {
    d.band.assign(times, kUnbounded);
    return d;
  }

  double observed = 0;
  for (const double z : d.z)
    if (!std::isnan(z)) observed = std::max(observed, std::abs(z));
  std::vector<double> redrawn;
  double degrees = 0;
  if (first.exact || second.exact) {
    const Paths& noisy = first.exact ? second : first;
    Centred from_mean;
    append(from_mean, noisy, means_of(noisy), d.z);
    redrawn = redrawn_maxima(from_mean, noisy.runs, 0, seed, workers);
    d.p_value = p_value_of(observed, redrawn);
    degrees = static_cast<double>(noisy.runs) - 1;
  } else {
    const std::vector<double> means1 = means_of(first), means2 = means_of(second);
    std::vector<double> pooled(times);
    for (std::size_t t = 0; t < times; ++t) pooled[t] = 0.5 * (means1[t] + means2[t]);
    Centred from_pooled, from_means;
    append(from_pooled, first, pooled, d.z);
    append(from_pooled, second, pooled, d.z);
    append(from_means, first, means1, d.z);
    append(from_means, second, means2, d.z);
    redrawn = redrawn_maxima(from_means, first.runs, second.runs, seed, workers);
    d.p_value =
        p_value_of(observed, split_maxima(from_pooled, first.runs, second.runs, seed, workers));
    // Where fewer runs scatter more, a split of all would make the error too small.
    if (first.runs != second.runs) d.p_value = std::max(d.p_value, p_value_of(observed, redrawn));
    degrees = static_cast<double>(std::min(first.runs, second.runs)) - 1;
  }
  const double multiplier = std::max(quantile_of(redrawn, level), student_quantile(level, degrees));
  for (const double error : d.error) d.band.push_back(error > 0 ? multiplier * error : 0);
  return d;
}

}  // namespace popflow
