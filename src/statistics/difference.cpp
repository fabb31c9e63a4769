#include "statistics/difference.hpp"

#include <algorithm>
#include <cmath>

#include "statistics/distributions.hpp"
#include "statistics/numbers.hpp"
#include "statistics/resampling.hpp"
#include "statistics/simultaneous.hpp"

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
/// about sqrt(6/(n - 3)) (1 + 2 |sample's|), and more where its square is larger than chance makes
/// it: heavy tails hide from samples. Skewness that both groups share cancels as far as their parts
/// of the variance and their numbers of runs are equal.
double allowance(const Part& first, const Part& second, double level) {
  const double variance = first.variance + second.variance;
  if (!(variance > 0)) return 0;
  const auto share = [&](const Part& part) {  // of a skewness of 1, in that of the difference
    return part.variance > 0 ? std::pow(part.variance / variance, 1.5) / std::sqrt(part.runs) : 0;
  };
  const double s1 = share(first), s2 = share(second);
  const Part& main = s1 > s2 ? first : second;
  const double chance = 6 / std::max(1.0, main.runs - 3);  // variance of a Gaussian sample's
  const double more = std::max(0.0, main.skewness * main.skewness - chance);
  const double unknown = std::sqrt(chance) * (1 + 2 * std::abs(main.skewness) + 3 * more);
  const double q = student_quantile(level, kUnbounded);
  return (2 * q * q + 1) / 6 * unknown * std::abs(s1 - s2);
}

/// Mean over time of what the bootstrap's quantile, at that time by itself, exceeds `quantile` by.
double mean_excess(const Extremes& redrawn, const std::vector<double>& z, double quantile) {
  double sum = 0, times = 0;
  for (std::size_t t = 0; t < z.size(); ++t) {
    if (!std::isfinite(z[t])) continue;
    sum += std::max(0.0, redrawn.of_each[t] - quantile);
    times += 1;
  }
  return times > 0 ? sum / times : 0;
}

/// Half-widths for all times, in standard errors, and the p-value that belongs to the first.
struct Reach {
  double width = 0;
  double gaussian = 0;  ///< for laws that are known to be Gaussian
  double p_value = 1;
};

/// The smaller of two: the bootstrap's quantile of the largest z over time; and that of Gaussian
/// paths, and beyond it what the bootstrap's exceeds Student's by at one time. Draws of a few runs
/// hold few different ones, which at one time or another hardly scatter: the first is up to twice
/// as large as need be. Skewness moves a quantile q by 2 q^2 + 1 times as much (allowance()): from
/// that of one time to that of all the excess grows so. `beyond` is the largest |z| without its
/// allowance.
Reach reach(const Extremes& redrawn, const Course& course, const std::vector<double>& z,
            double beyond, double level) {
  const double gaussian = course.quantile(level), once = student_quantile(level, course.degrees);
  const double part = mean_excess(redrawn, z, once) / (2 * once * once + 1);
  // The Gaussian quantile x that together with its excess is as large as `beyond`.
  double x = beyond;
  if (part > 0) {
    const double room = std::max(0.0, beyond - part);
    x = std::isfinite(part) ? 2 * room / (1 + std::sqrt(1 + 8 * part * room)) : 0;
    if (std::isinf(room) && std::isfinite(part)) x = kUnbounded;
  }
  const double least = 1.0 / static_cast<double>(kPermutations + 1);
  return {std::min(half_width(redrawn, level), gaussian + part * (2 * gaussian * gaussian + 1)),
          gaussian,
          std::min({1.0, two_sided_p_value(beyond, redrawn), std::max(least, 2 * course.tail(x))})};
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
  // Half-widths in standard errors: with the allowance, and without.
  Reach own;
  double least = 0;
  if (first.exact || second.exact) {
    const Paths& noisy = first.exact ? second : first;
    Centred from_mean;
    append(from_mean, noisy, means_of(noisy), d.z);
    const Extremes redrawn =
        redrawn_extremes(from_mean, noisy.runs, 0, DrawnFrom::own, level, seed, workers);
    own = reach(redrawn, course_of(from_mean, noisy.runs, 0), d.z, beyond_allowance, level);
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
    const Course course = course_of(from_means, first.runs, second.runs);
    const auto reach_of = [&](DrawnFrom from) {
      return reach(
          redrawn_extremes(from_means, first.runs, second.runs, from, level, seed, workers), course,
          d.z, beyond_allowance, level);
    };
    own = reach_of(DrawnFrom::own);
    d.p_value =
        p_value_of(observed, split_maxima(from_pooled, first.runs, second.runs, seed, workers));
    least = student_quantile(level, static_cast<double>(std::min(first.runs, second.runs)) - 1);
    if (first.runs != second.runs) {
      // Where fewer runs scatter more, a split of all would make the error too small.
      d.p_value = std::max(d.p_value, own.p_value);
      // A few runs tell little of the tail of a law that the many show.
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
