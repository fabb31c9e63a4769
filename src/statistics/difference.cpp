#include "statistics/difference.hpp"

#include <algorithm>
#include <cmath>

#include "statistics/distributions.hpp"
#include "statistics/numbers.hpp"
#include "statistics/resampling.hpp"

namespace popflow {

namespace {

/// One of the two groups at one time.
struct Part {
  double runs = 0;
  double variance = 0;  ///< of its mean
  double skewness = 0;
};

/// By how many standard errors the band must be wider because the skewness of laws is known as well
/// as samples tell it. Skewness moves the quantiles of Student's t by (2 q^2 + 1)/6 times that of
/// the mean (Johnson 1978; Hall 1992), q the Gaussian quantile. A standard error of a sample's is
/// about sqrt(6/n) (1 + 2 |sample's|). Skewness that both groups share cancels as far as their
/// parts of the variance and their numbers of runs are equal.
double allowance(const Part& first, const Part& second, double level) {
  const double variance = first.variance + second.variance;
  if (!(variance > 0)) return 0;
  const auto share = [&](const Part& part) {  // of a skewness of 1, in that of the difference
    return part.variance > 0 ? std::pow(part.variance / variance, 1.5) / std::sqrt(part.runs) : 0;
  };
  const double s1 = share(first), s2 = share(second);
  const Part& main = s1 > s2 ? first : second;
  const double unknown = std::sqrt(6 / main.runs) * (1 + 2 * std::abs(main.skewness));
  const double q = student_quantile(level, kUnbounded);
  return (2 * q * q + 1) / 6 * unknown * std::abs(s1 - s2);
}

}  // namespace

Difference difference(const Paths& first, const Paths& second, double level, std::uint64_t seed,
                      Workers& workers) {
  Difference d;
  const std::size_t times = first.times;
  d.exact = first.exact && second.exact;
  d.nothing = times > 0;
  std::vector<double> wider;  // of the band, in standard errors
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
    wider.push_back(allowance({a.number, va, a.skewness}, {b.number, vb, b.skewness}, level));
    const double of_each = (first.exact ? 0 : a.variance) + (second.exact ? 0 : b.variance);
    d.alike.push_back(va + vb > 0 ? of_each / (va + vb) : 1);
    const bool nothing = is_rounding(d.difference[t]) && is_rounding(d.error[t]);
    d.nothing = d.nothing && nothing;
    d.z.push_back(nothing ? kNoNumber : d.difference[t] / d.error[t]);
    if (std::abs(d.difference[t]) > std::abs(d.difference[d.largest])) d.largest = t;
  }
  if (d.exact) {
    d.band = d.error;
    d.p_value = kNoNumber;
    return d;
  }
  const bool enough = (first.exact || first.runs >= 2) && (second.exact || second.runs >= 2);
  if (!enough) {
    d.band.assign(times, kUnbounded);
    return d;
  }

  double observed = 0, beyond_allowance = 0;
  for (std::size_t t = 0; t < times; ++t) {
    if (std::isnan(d.z[t])) continue;
    observed = std::max(observed, std::abs(d.z[t]));
    beyond_allowance = std::max(beyond_allowance, std::abs(d.z[t]) - wider[t]);
  }
  // Half-widths in standard errors: with the allowance, and without.
  double own = 0, least = 0;
  if (first.exact || second.exact) {
    const Paths& noisy = first.exact ? second : first;
    Centred from_mean;
    append(from_mean, noisy, means_of(noisy), d.z);
    const Extremes redrawn =
        redrawn_extremes(from_mean, noisy.runs, 0, DrawnFrom::own, seed, workers);
    d.p_value = two_sided_p_value(beyond_allowance, redrawn);
    own = half_width(redrawn, level);
    least = student_quantile(level, static_cast<double>(noisy.runs) - 1);
  } else {
    const std::vector<double> means1 = means_of(first), means2 = means_of(second);
    std::vector<double> pooled(times);
    for (std::size_t t = 0; t < times; ++t) pooled[t] = 0.5 * (means1[t] + means2[t]);
    Centred from_pooled, from_means;
    append(from_pooled, first, pooled, d.z);
    append(from_pooled, second, pooled, d.z);
    append(from_means, first, means1, d.z);
    append(from_means, second, means2, d.z);
    const Extremes redrawn =
        redrawn_extremes(from_means, first.runs, second.runs, DrawnFrom::own, seed, workers);
    d.p_value =
        p_value_of(observed, split_maxima(from_pooled, first.runs, second.runs, seed, workers));
    own = half_width(redrawn, level);
    least = student_quantile(level, static_cast<double>(std::min(first.runs, second.runs)) - 1);
    if (first.runs != second.runs) {
      // Where fewer runs scatter more, a split of all would make the error too small.
      d.p_value = std::max(d.p_value, two_sided_p_value(beyond_allowance, redrawn));
      // A few runs tell little of the tail of a law that the many show.
      least = std::max(least, half_width(redrawn_extremes(from_means, first.runs, second.runs,
                                                          DrawnFrom::pooled, seed, workers),
                                         level));
    }
  }
  for (std::size_t t = 0; t < times; ++t)
    d.band.push_back(d.error[t] > 0 ? std::max(own + wider[t], least) * d.error[t] : 0);
  return d;
}

}  // namespace popflow
