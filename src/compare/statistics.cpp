#include "compare/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/hypergeometric.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <numeric>

namespace popflow {

namespace {

const double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();
// Permutations of a test: p-values are multiples of 1/1000.
constexpr std::size_t kPermutations = 999;

struct Summary {
  double number = 0;
  double mean = kNone;
  double variance = kNone;  ///< n - 1
  double kurtosis = 3;
};

/// Of the finite values at one time. Relative to the first of them, so that bit-for-bit identical
/// runs have zero variance and exactly their value as mean.
Summary summary(const Paths& paths, std::size_t time) {
  Summary s;
  double origin = 0, sum = 0;
  for (std::size_t run = 0; run < paths.runs; ++run) {
    const double x = paths.at(run, time);
    if (!std::isfinite(x)) continue;
    if (s.number == 0) origin = x;
    sum += x - origin;
    ++s.number;
  }
  if (s.number == 0) return s;
  const double shift = sum / s.number;
  s.mean = origin + shift;
  if (s.number < 2) return s;
  double squares = 0, fourth = 0;
  for (std::size_t run = 0; run < paths.runs; ++run) {
    const double d = paths.at(run, time) - origin - shift;
    if (!std::isfinite(d)) continue;
    squares += d * d;
    fourth += d * d * d * d;
  }
  s.variance = squares / (s.number - 1);
  if (squares > 0) s.kurtosis = s.number * fourth / (squares * squares);
  return s;
}

/// Rows of several runs at all times, without their mean.
struct Centred {
  std::size_t times = 0;
  std::vector<double> rows;
};

/// Times at which z is NaN are left at 0, where nothing varies.
void append(Centred& to, const Paths& paths, const std::vector<double>& mean,
            const std::vector<double>& z) {
  to.times = paths.times;
  for (std::size_t run = 0; run < paths.runs; ++run)
    for (std::size_t t = 0; t < paths.times; ++t)
      to.rows.push_back(std::isnan(z[t]) ? 0 : paths.at(run, t) - mean[t]);
}

/// Sums and sums of squares over the chosen rows.
void add_rows(const Centred& data, std::span<const std::size_t> rows, std::vector<double>& sum,
              std::vector<double>& squares) {
  sum.assign(data.times, 0);
  squares.assign(data.times, 0);
  for (const std::size_t row : rows) {
    const double* x = data.rows.data() + row * data.times;
    for (std::size_t t = 0; t < data.times; ++t) {
      sum[t] += x[t];
      squares[t] += x[t] * x[t];
    }
  }
}

/// The squared standard error of a group's mean, from its sums.
double variance_of_mean(double n, double sum, double squares) {
  return std::max(0.0, squares - sum * (sum / n)) / (n - 1) / n;
}

/// |difference of means| / standard error from two groups' sums; 0 where nothing varies.
double studentised(double n1, double sum1, double squares1, double n2, double sum2,
                   double squares2) {
  const double error =
      std::sqrt(variance_of_mean(n1, sum1, squares1) + variance_of_mean(n2, sum2, squares2));
  return error > 0 ? std::abs(sum2 / n2 - sum1 / n1) / error : 0;
}

/// The largest |z| over time of every random split of the rows into groups of n1 and n2.
std::vector<double> split_maxima(const Centred& data, std::size_t n1, std::size_t n2,
                                 std::uint64_t seed, Workers& workers) {
  std::vector<std::size_t> all(n1 + n2);
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<double> total, total_squares;
  add_rows(data, all, total, total_squares);
  std::vector<double> maxima(kPermutations);
  workers.run(kPermutations, kPermutations * all.size() * data.times, [&](std::size_t i) {
    RandomStream random(seed, Purpose::statistics, 0, i);
    std::vector<std::size_t> order = all;
    for (std::size_t k = 0; k < n1; ++k)
      std::swap(order[k], order[k + random.below(order.size() - k)]);
    std::vector<double> sum, squares;
    add_rows(data, std::span(order).first(n1), sum, squares);
    double largest = 0;
    for (std::size_t t = 0; t < data.times; ++t)
      largest = std::max(
          largest, studentised(static_cast<double>(n1), sum[t], squares[t], static_cast<double>(n2),
                               total[t] - sum[t], total_squares[t] - squares[t]));
    maxima[i] = largest;
  });
  return maxima;
}

/// The largest |z| over time of n1 rows drawn anew, with repetition, from the first n1, and n2 from
/// the rest (n2 = 0: of the former alone). Infinite where draws are so alike that they scatter not
/// at all, but not the rows.
std::vector<double> redrawn_maxima(const Centred& data, std::size_t n1, std::size_t n2,
                                   std::uint64_t seed, Workers& workers) {
  constexpr double kAlike = 1e-12;  // of the variance of the rows
  std::vector<std::size_t> all(n1 + n2);
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<double> total, total_squares;
  add_rows(data, all, total, total_squares);
  std::vector<double> maxima(kPermutations);
  workers.run(kPermutations, kPermutations * all.size() * data.times, [&](std::size_t i) {
    RandomStream random(seed, Purpose::statistics, 1, i);
    std::vector<std::size_t> drawn;
    for (std::size_t k = 0; k < n1; ++k) drawn.push_back(random.below(n1));
    for (std::size_t k = 0; k < n2; ++k) drawn.push_back(n1 + random.below(n2));
    std::vector<double> sum1, squares1, sum2, squares2;
    add_rows(data, std::span(drawn).first(n1), sum1, squares1);
    add_rows(data, std::span(drawn).subspan(n1), sum2, squares2);
    const auto m1 = static_cast<double>(n1), m2 = static_cast<double>(n2);
    double largest = 0;
    for (std::size_t t = 0; t < data.times; ++t) {
      if (total_squares[t] == 0) continue;
      double variance = variance_of_mean(m1, sum1[t], squares1[t]), apart = -sum1[t] / m1;
      if (n2 > 0) {
        variance += variance_of_mean(m2, sum2[t], squares2[t]);
        apart += sum2[t] / m2;
      }
      apart = std::abs(apart);
      const bool alike = variance <= kAlike * total_squares[t] / (m1 + m2) / (m1 + m2);
      largest =
          std::max(largest, alike ? (apart > 0 ? kInfinite : 0) : apart / std::sqrt(variance));
    }
    maxima[i] = largest;
  });
  return maxima;
}

/// Counts the observed one, so it is never 0. Maxima that differ only by rounding count as equal.
double p_value_of(double observed, const std::vector<double>& maxima) {
  const auto beyond = std::count_if(maxima.begin(), maxima.end(),
                                    [&](double m) { return m >= observed * (1 - 1e-10); });
  return static_cast<double>(beyond + 1) / static_cast<double>(maxima.size() + 1);
}

double quantile_of(std::vector<double> values, double level) {
  std::sort(values.begin(), values.end());
  const auto rank =
      static_cast<std::size_t>(std::ceil(level * static_cast<double>(values.size() + 1)));
  return values[std::min(rank, values.size()) - 1];
}

/// Standard error of log s by the delta method.
double error_of_log(double n, double kurtosis) {
  return 0.5 * std::sqrt(std::max(0.0, kurtosis - (n - 3) / (n - 1)) / n);
}

/// The ends of the studentised bootstrap's interval of log(deviation), relative to log s, at every
/// time; {0, 0} where no draw varies.
struct Ends {
  double low = 0, high = 0;
};
std::vector<Ends> redrawn_ends(const Paths& paths, const std::vector<Summary>& of, double level,
                               std::uint64_t seed, Workers& workers) {
  std::vector<std::vector<double>> z(kPermutations, std::vector<double>(paths.times, kNone));
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
      // One run drawn again and again tells nothing.
      if (n < 2 || !(squares > kRounding * (of[t].number - 1) * of[t].variance)) continue;
      const double fourth =
          s.fourth - 4 * m * s.third + 6 * m * m * s.second - 3 * n * m * m * m * m;
      const double error = error_of_log(n, n * fourth / (squares * squares));
      // What is drawn from has the variance of the sample by n.
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

std::vector<double> means_of(const Paths& paths) {
  std::vector<double> means;
  for (std::size_t t = 0; t < paths.times; ++t) means.push_back(summary(paths, t).mean);
  return means;
}

}  // namespace

Paths finite_runs(const Paths& paths, std::size_t times) {
  Paths kept{0, times, {}, paths.exact};
  for (std::size_t run = 0; run < paths.runs; ++run) {
    const double* row = paths.values.data() + run * paths.times;
    if (!std::all_of(row, row + times, [](double x) { return std::isfinite(x); })) continue;
    kept.values.insert(kept.values.end(), row, row + times);
    ++kept.runs;
  }
  return kept;
}

Moments moments(const Paths& paths, double level) {
  Moments m;
  for (std::size_t t = 0; t < paths.times; ++t) {
    const Summary s = summary(paths, t);
    m.mean.push_back(s.mean);
    if (paths.exact) {
      const double zero = std::isfinite(s.mean) ? 0 : kNone;
      for (auto* values : {&m.mean_low, &m.mean_high}) values->push_back(s.mean);
      for (auto* values :
           {&m.mean_error, &m.deviation, &m.deviation_low, &m.deviation_high, &m.deviation_error})
        values->push_back(zero);
      continue;
    }
    const double n = s.number;
    m.mean_error.push_back(std::sqrt(s.variance / n));
    const double quantile = n < 2 ? kNone : student_quantile(level, n - 1);
    m.mean_low.push_back(s.mean - quantile * m.mean_error.back());
    m.mean_high.push_back(s.mean + quantile * m.mean_error.back());
    const double deviation = std::sqrt(s.variance);
    m.deviation.push_back(deviation);
    // Samples underestimate heavy tails: at least a Gaussian's.
    const double error = n < 2 ? kNone : error_of_log(n, std::max(s.kurtosis, 3.0));
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
    d.z.push_back(nothing ? kNone : d.difference[t] / d.error[t]);
    if (std::abs(d.difference[t]) > std::abs(d.difference[d.largest])) d.largest = t;
  }
  if (first.exact && second.exact) {
    d.band = d.error;
    d.p_value = kNone;
    return d;
  }
  const bool enough = (first.exact || first.runs >= 2) && (second.exact || second.runs >= 2);
  if (!enough) {
    d.band.assign(times, kInfinite);
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

EnergyDistance energy_distance(std::span<const double> first, std::span<const double> second,
                               std::uint64_t seed) {
  const std::size_t n1 = first.size(), n2 = second.size(), n = n1 + n2;
  if (n1 == 0 || n2 == 0) return {kNone, kNone};
  std::vector<double> all(first.begin(), first.end());
  all.insert(all.end(), second.begin(), second.end());
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t i, std::size_t j) { return all[i] < all[j]; });
  std::vector<std::size_t> rank(n);
  std::vector<double> gap(n, 0);  // from the k-th smallest to the next
  for (std::size_t k = 0; k < n; ++k) {
    rank[order[k]] = k;
    if (k + 1 < n) gap[k] = all[order[k + 1]] - all[order[k]];
  }
  const auto integral = [&](const std::vector<bool>& is_first) {
    double f = 0, g = 0, sum = 0;
    for (std::size_t k = 0; k < n; ++k) {
      (is_first[k] ? f : g) += 1;
      const double apart = f / static_cast<double>(n1) - g / static_cast<double>(n2);
      sum += apart * apart * gap[k];
    }
    return 2 * sum;
  };
  std::vector<bool> is_first(n, false);
  for (std::size_t i = 0; i < n1; ++i) is_first[rank[i]] = true;
  EnergyDistance result{integral(is_first), 1};
  std::vector<double> permuted;
  std::vector<std::size_t> places(n);
  std::iota(places.begin(), places.end(), std::size_t{0});
  for (std::size_t i = 0; i < kPermutations; ++i) {
    RandomStream random(seed, Purpose::statistics, 2, i);
    std::fill(is_first.begin(), is_first.end(), false);
    for (std::size_t k = 0; k < n1; ++k) {
      std::swap(places[k], places[k + random.below(n - k)]);
      is_first[places[k]] = true;
    }
    permuted.push_back(integral(is_first));
  }
  result.p_value = p_value_of(result.distance, permuted);
  return result;
}

bool rejects(double p_value, double level) { return p_value <= 1 - level + kRounding; }

double smallest_p_value(double m, double n) {
  // As often all that are drawn are one and the same run.
  if (m == 0) return std::pow(n, 1 - n);
  // The halves of as many runs each are as far apart as before when they change places.
  const double splits = std::lgamma(m + n + 1) - std::lgamma(m + 1) - std::lgamma(n + 1);
  return std::exp(std::log(m == n ? 2.0 : 1.0) - splits);
}

std::size_t least_runs(bool against_exact, double level) {
  std::size_t runs = 2;
  const auto smallest = [&] {
    const auto n = static_cast<double>(runs);
    return smallest_p_value(against_exact ? 0 : n, n);
  };
  while (!rejects(smallest(), level)) ++runs;
  return runs;
}

Verdict verdict(const Difference& d, double margin, double level, std::size_t runs,
                std::size_t least) {
  Verdict v;
  if (std::isnan(margin)) margin = 0;  // nothing changes along the flow
  bool within = true, beyond = false, outside = false;
  // How many runs would decide, by how much smaller errors would have to be.
  double for_agree = 0, for_differ = kInfinite;
  for (std::size_t t = 0; t < d.difference.size(); ++t) {
    const double size = std::abs(d.difference[t]);
    const double width = d.band[t] + d.error[t];  // by one error more than half the time is enough
    if (!(size + d.band[t] <= margin)) within = false;
    if (size - d.band[t] > margin) beyond = true;
    // What may be chance would shrink with the errors.
    const bool certain = size > d.band[t];
    const double shrinks = certain ? width : width + size;
    const double room = certain ? size - margin : -margin;
    const double needed = d.alike[t] * (shrinks / room) * (shrinks / room);
    if (room >= 0) {
      outside = true;
      for_differ = std::min(for_differ, needed);
    } else if (d.error[t] > 0) {
      for_agree = std::max(for_agree, needed);
    }
  }
  const bool exact = std::all_of(d.error.begin(), d.error.end(), [](double e) { return e == 0; });
  if (within || d.nothing) {
    v.kind = Verdict::Kind::agree;
  } else if (exact || (beyond && rejects(d.p_value, level))) {
    v.kind = Verdict::Kind::differ;
  } else {
    double needed = outside ? for_differ : for_agree;
    if (runs < least && !std::isfinite(needed)) needed = 0;  // bands without an end
    if (runs < 2) needed = kNone;  // one run alone does not tell how runs scatter
    v.runs_needed = std::isfinite(needed)
                        ? std::max({std::ceil(needed * (1 - 1e-9)), static_cast<double>(runs) + 1,
                                    static_cast<double>(least)})
                        : kNone;
  }
  return v;
}

Estimate minus(const Estimate& first, const Estimate& second) {
  const double v1 = first.error * first.error;
  const double v2 = second.error * second.error;
  const auto by = [&](double part, double degrees) {
    const double share = part / (v1 + v2);
    return part > 0 ? share * share / degrees : 0;
  };
  return {first.value - second.value, std::sqrt(v1 + v2),
          1 / (by(v1, first.degrees) + by(v2, second.degrees))};
}

OrderFit fit_order(std::span<const double> eta, std::span<const Estimate> error, double level) {
  OrderFit fit;
  const std::size_t n = eta.size();
  double centre = 0, signal = 0;
  std::vector<double> width;  // standard errors as wide as Student's quantile makes them
  for (std::size_t i = 0; i < n; ++i) {
    centre += std::log(eta[i]) / static_cast<double>(n);
    width.push_back(error[i].error * student_quantile(level, error[i].degrees) /
                    student_quantile(level, kInfinite));
    const double z = error[i].value / width[i];
    signal += z * z;
  }
  fit.order = fit.low = fit.high = fit.coefficient = kNone;
  const auto chi_squared = [](double degrees, double p) {
    return boost::math::quantile(boost::math::chi_squared(degrees), p);
  };
  if (!std::isfinite(signal)) return fit;
  if (signal <= chi_squared(static_cast<double>(n), level)) return fit;

  const auto profile = [&](double p, double* coefficient) {
    double ep = 0, pp = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double w = 1 / (width[i] * width[i]);
      const double power = std::exp(p * (std::log(eta[i]) - centre));
      ep += w * error[i].value * power;
      pp += w * power * power;
    }
    const double c = ep / pp;
    if (coefficient != nullptr) *coefficient = c * std::exp(-p * centre);
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double rest = error[i].value - c * std::exp(p * (std::log(eta[i]) - centre));
      sum += rest * rest / (width[i] * width[i]);
    }
    return sum;
  };
  constexpr double kLow = -2, kHigh = 8, kStep = 0.002;
  std::vector<double> curve;
  for (double p = kLow; p <= kHigh; p += kStep) curve.push_back(profile(p, nullptr));
  const auto best = std::min_element(curve.begin(), curve.end());
  const double degrees = std::max(1.0, static_cast<double>(n) - 2);
  if (*best > chi_squared(degrees, 0.99)) {
    fit.kind = OrderFit::Kind::no_power;
    return fit;
  }
  fit.kind = OrderFit::Kind::fitted;
  // The best power at an end of where it is looked for is none: all errors but the largest are
  // chance, say, and there is but a lowest one.
  if (best != curve.begin() && best != curve.end() - 1) {
    fit.order = kLow + kStep * static_cast<double>(best - curve.begin());
    (void)profile(fit.order, &fit.coefficient);
  }
  const double bound = *best + chi_squared(1, level);
  const auto inside = [&](double value) { return value <= bound; };
  const auto from = std::find_if(curve.begin(), curve.end(), inside) - curve.begin();
  const auto to = curve.rend() - std::find_if(curve.rbegin(), curve.rend(), inside) - 1;
  const auto last = static_cast<std::ptrdiff_t>(curve.size()) - 1;
  fit.low = from == 0 ? -kInfinite : kLow + kStep * static_cast<double>(from);
  fit.high = to == last ? kInfinite : kLow + kStep * static_cast<double>(to);
  return fit;
}

double student_quantile(double level, double degrees) {
  if (!(degrees >= 1)) return kInfinite;
  return boost::math::quantile(boost::math::students_t(degrees), (1 + level) / 2);
}

double proportions_p_value(std::size_t first, std::size_t of_first, std::size_t second,
                           std::size_t of_second) {
  const auto hits = static_cast<unsigned>(first + second);
  const auto drawn = static_cast<unsigned>(of_first);
  const auto total = static_cast<unsigned>(of_first + of_second);
  if (hits == 0 || hits == total || drawn == 0 || drawn == total) return 1;
  const boost::math::hypergeometric_distribution<> law(hits, drawn, total);
  const double seen = boost::math::pdf(law, static_cast<unsigned>(first));
  const unsigned low = hits + drawn > total ? hits + drawn - total : 0;
  double p = 0;
  for (unsigned k = low; k <= std::min(hits, drawn); ++k) {
    const double here = boost::math::pdf(law, k);
    if (here <= seen * (1 + 1e-9)) p += here;
  }
  return std::min(1.0, p);
}

}  // namespace popflow
