#include "statistics/difference.hpp"

#include <algorithm>
#include <cmath>

#include "statistics/distributions.hpp"
#include "statistics/numbers.hpp"
#include "statistics/resampling.hpp"
#include "statistics/simultaneous.hpp"

namespace popflow {

namespace {

/// Statistics of one of the two groups at one time.
struct Part {
  double runs = 0;
  double variance = 0;  ///< variance of its mean
  double skewness = 0;
};

/// Widening of the band, in standard errors, because samples may not show the whole skewness.
/// Skewness moves the quantiles of Student's t by (2 q^2 + 1)/6 times the skewness of the mean
/// (Johnson 1978; Hall 1992), where q is the Gaussian quantile. The standard error of a sample
/// skewness is about sqrt(6/(n - 3)) (1 + 2 |sample skewness|), and larger if the square of the
/// skewness exceeds what chance explains, because samples hide heavy tails. Skewness that both
/// groups share cancels, as far as their shares of the variance and their numbers of runs are
/// equal.
double allowance(const Part& first, const Part& second, double level) {
  const double variance = first.variance + second.variance;
  if (!(variance > 0)) return 0;
  // Fraction of a unit skewness of a part that reaches the difference.
  const auto share = [&](const Part& part) {
    return part.variance > 0 ? std::pow(part.variance / variance, 1.5) / std::sqrt(part.runs) : 0;
  };
  const double s1 = share(first), s2 = share(second);
  const Part& main = s1 > s2 ? first : second;
  const double chance = 6 / std::max(1.0, main.runs - 3);  // variance for a Gaussian sample
  const double more = std::max(0.0, main.skewness * main.skewness - chance);
  const double unknown = std::sqrt(chance) * (1 + 2 * std::abs(main.skewness) + 3 * more);
  const double q = student_quantile(level, kUnbounded);
  return (2 * q * q + 1) / 6 * unknown * std::abs(s1 - s2);
}

/// Mean over time of the amount by which the bootstrap's pointwise quantile exceeds `quantile`.
double mean_excess(const Extremes& redrawn, const std::vector<double>& z, double quantile) {
  double sum = 0, times = 0;
  for (std::size_t t = 0; t < z.size(); ++t) {
    if (!std::isfinite(z[t])) continue;
    sum += std::max(0.0, redrawn.of_each[t] - quantile);
    times += 1;
  }
  return times > 0 ? sum / times : 0;
}

/// Half-widths over all times, in standard errors, and the p-value of the largest |z| less its
/// allowance.
struct Reach {
  double width = 0;
  double gaussian = 0;  ///< half-width for Gaussian distributions
  double p_value = 1;
};

/// Returns the smaller of two estimates of the half-width. The first is the bootstrap's quantile of
/// the largest z over time. The second is the quantile of Gaussian paths plus the excess of the
/// bootstrap over Student's t at a single time. `beyond` is the largest |z| less its allowance.
///
/// The first estimate is up to twice too large for a few runs: resampling gives few distinct draws,
/// some of which hardly scatter at some time. The second scales the excess from a single time to
/// all times by 2 q^2 + 1, because skewness moves a quantile q in proportion to this number
/// (allowance()).
Reach reach(const Extremes& redrawn, const PathExtent& extent, const std::vector<double>& z,
            double beyond, double level) {
  const double gaussian = extent.quantile(level), once = student_quantile(level, extent.degrees);
  const double part = mean_excess(redrawn, z, once) / (2 * once * once + 1);
  // Gaussian quantile x that, together with its excess, equals `beyond`.
  double x = beyond;
  if (part > 0) {
    const double room = std::max(0.0, beyond - part);
    x = std::isfinite(part) ? 2 * room / (1 + std::sqrt(1 + 8 * part * room)) : 0;
    if (std::isinf(room) && std::isfinite(part)) x = kUnbounded;
  }
  const double least = 1.0 / static_cast<double>(kPermutations + 1);
  return {std::min(half_width(redrawn, level), gaussian + part * (2 * gaussian * gaussian + 1)),
          gaussian,
          std::min({1.0, two_sided_p_value(beyond, redrawn), std::max(least, 2 * extent.tail(x))})};
}

}  // namespace

Difference difference(const Paths& first, const Paths& second, double level, std::uint64_t seed,
                      Workers& workers) {
  Difference d;
  const std::size_t times = first.times;
  d.exact = first.exact && second.exact;
  d.nothing = times > 0;
  std::vector<double> wider;  // allowance of the band, in standard errors
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
    d.band = d.gaussian_band = d.error;
    d.p_value = kNoNumber;
    return d;
  }
  const bool enough = (first.exact || first.runs >= 2) && (second.exact || second.runs >= 2);
  if (!enough) {
    d.band.assign(times, kUnbounded);
    d.gaussian_band = d.band;
    return d;
  }

  double observed = 0, beyond_allowance = 0;
  for (std::size_t t = 0; t < times; ++t) {
    if (std::isnan(d.z[t])) continue;
    observed = std::max(observed, std::abs(d.z[t]));
    beyond_allowance = std::max(beyond_allowance, std::abs(d.z[t]) - wider[t]);
  }
  Reach own;         // half-widths without the allowance, in standard errors
  double least = 0;  // lower bound on the half-width with the allowance
  if (first.exact || second.exact) {
    const Paths& noisy = first.exact ? second : first;
    Centred from_mean;
    append(from_mean, noisy, means_of(noisy), d.z);
    const Extremes redrawn =
        redrawn_extremes(from_mean, noisy.runs, 0, DrawnFrom::own, level, seed, workers);
    own = reach(redrawn, extent_of(from_mean, noisy.runs, 0), d.z, beyond_allowance, level);
    d.p_value = own.p_value;
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
    const PathExtent extent = extent_of(from_means, first.runs, second.runs);
    const auto reach_of = [&](DrawnFrom from) {
      return reach(
          redrawn_extremes(from_means, first.runs, second.runs, from, level, seed, workers), extent,
          d.z, beyond_allowance, level);
    };
    own = reach_of(DrawnFrom::own);
    d.p_value =
        p_value_of(observed, split_maxima(from_pooled, first.runs, second.runs, seed, workers));
    least = student_quantile(level, static_cast<double>(std::min(first.runs, second.runs)) - 1);
    if (first.runs != second.runs) {
      // If the smaller group scatters more, a permutation test underestimates the error.
      d.p_value = std::max(d.p_value, own.p_value);
      // A few runs may not show a tail of the distribution that the larger group shows.
      least = std::max(least, reach_of(DrawnFrom::pooled).width);
    }
  }
  for (std::size_t t = 0; t < times; ++t) {
    d.band.push_back(d.error[t] > 0 ? std::max(own.width + wider[t], least) * d.error[t] : 0);
    d.gaussian_band.push_back(d.error[t] > 0 ? own.gaussian * d.error[t] : 0);
  }
  return d;
}

}  // namespace popflow
