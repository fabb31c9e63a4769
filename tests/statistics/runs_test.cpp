// Statistics of comparisons against their definitions, and their error rates.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "popflow/random.hpp"
#include "statistics/difference.hpp"
#include "statistics/distributions.hpp"
#include "statistics/energy_distance.hpp"
#include "statistics/moments.hpp"
#include "statistics/numbers.hpp"
#include "statistics/paths.hpp"
#include "statistics/verdict.hpp"
#include "support/catch.hpp"

namespace popflow::test {
namespace {

/// Returns runs of a random walk with drift, whose increments are those of `draw`. Later values
/// depend on earlier ones, as in trajectories.
Paths walks(std::size_t runs, std::size_t times, std::uint64_t seed, double drift,
            const std::function<double(RandomStream&)>& draw) {
  Paths paths{runs, times, {}, false};
  for (std::size_t run = 0; run < runs; ++run) {
    RandomStream random(seed, Purpose::test, static_cast<std::uint32_t>(run));
    double x = 0;
    for (std::size_t t = 0; t < times; ++t) {
      paths.values.push_back(x);  // all start at 0
      x += drift + draw(random);
    }
  }
  return paths;
}

double normal(RandomStream& random) { return random.normal(); }
/// Draws from a skewed distribution with mean 0.
double exponential(RandomStream& random) { return -std::log(random.uniform()) - 1; }

Paths constant(double value, std::size_t times) {
  return {1, times, std::vector<double>(times, value), true};
}

TEST_CASE("moments agree with their definitions", "[fast][compare]") {
  const Paths paths{4, 2, {1, 5, 2, 5, 4, 5, 5, 5}, false};
  Workers workers(1);
  Moments m = moments(paths, 0.95);
  allow_for_skewness(m, paths, 0.95, 1, workers);
  CHECK(m.mean[0] == 3);
  CHECK(m.deviation[0] == Approx(std::sqrt(10.0 / 3)));
  CHECK(m.mean_error[0] == Approx(std::sqrt(10.0 / 3 / 4)));
  // Student's quantile with 3 degrees of freedom.
  CHECK(m.mean_low[0] == Approx(3 - 3.182446305284263 * std::sqrt(10.0 / 3 / 4)));
  CHECK(m.mean_high[0] == Approx(3 + 3.182446305284263 * std::sqrt(10.0 / 3 / 4)));
  CHECK(m.deviation_low[0] < m.deviation[0]);
  CHECK(m.deviation_high[0] > m.deviation[0]);
  // Runs with equal values have deviation 0.
  CHECK(m.mean[1] == 5);
  CHECK(m.deviation[1] == 0);
  const Moments one = moments({1, 1, {2}, false}, 0.95);
  CHECK(one.mean[0] == 2);
  CHECK(std::isnan(one.mean_error[0]));
  CHECK(std::isnan(one.mean_low[0]));
  const Moments exact = moments(constant(2, 1), 0.95);
  CHECK(exact.mean_error[0] == 0);
  CHECK(exact.mean_low[0] == 2);
  CHECK(exact.mean_high[0] == 2);
}

TEST_CASE("the confidence interval of a standard deviation covers it", "[fast][compare]") {
  // Binomial standard errors of 400 samples: 0.011 at 0.95, 0.016 at 0.88.
  Workers workers(2);
  const auto coverage = [&](std::size_t runs, double truth,
                            const std::function<double(RandomStream&)>& draw) {
    constexpr int kSamples = 400;
    int covered = 0;
    for (int i = 0; i < kSamples; ++i) {
      const Paths paths = walks(runs, 2, 1000 + i, 0, draw);
      Moments m = moments(paths, 0.95);
      allow_for_skewness(m, paths, 0.95, 5, workers);
      covered += m.deviation_low[1] <= truth && truth <= m.deviation_high[1] ? 1 : 0;
    }
    return covered / double(kSamples);
  };
  CHECK(coverage(24, 1, normal) == Approx(0.96).margin(0.035));
  // Coverage for skewed distributions; without the bootstrap it is 0.81 and 0.77.
  CHECK(coverage(16, 1, exponential) > 0.845);
  CHECK(coverage(16, std::sqrt(2.0), [](RandomStream& random) {
          const double x = random.normal();
          return x * x;
        }) > 0.83);
}

/// Fractions of trials with p <= 0.05, and of trials whose band does not contain the truth.
struct Rates {
  double rejected = 0, outside = 0;
};
Rates rates(int trials, const std::function<Difference(int)>& trial, double truth_per_time = 0) {
  Rates r;
  for (int i = 0; i < trials; ++i) {
    const Difference d = trial(i);
    r.rejected += d.p_value <= 0.05 ? 1.0 / trials : 0;
    bool outside = false;
    for (std::size_t t = 0; t < d.difference.size(); ++t)
      outside = outside || std::abs(d.difference[t] - truth_per_time * static_cast<double>(t)) >
                               d.band[t] * (1 + 1e-12) + 1e-12;
    r.outside += outside ? 1.0 / trials : 0;
  }
  return r;
}

TEST_CASE("equal distributions are rejected at the nominal level, and bands cover simultaneously",
          "[slow][compare]") {
  // 400 trials of 12 against 12 runs at 20 times. The binomial standard error is 0.011, and the
  // p-value's rate agrees within 4 of them. The band is asymptotic, so its bound is one-sided and
  // wider.
  Workers workers(1);
  constexpr int kTrials = 400;
  SECTION("Gaussian") {
    const Rates r = rates(kTrials, [&](int i) {
      return difference(walks(12, 20, 2 * i, 0, normal), walks(12, 20, 2 * i + 1, 0, normal), 0.95,
                        5, workers);
    });
    CHECK(r.rejected == Approx(0.05).margin(0.044));
    CHECK(r.outside < 0.11);
  }
  SECTION("skewed") {
    const Rates r = rates(kTrials, [&](int i) {
      return difference(walks(12, 20, 2 * i, 0, exponential),
                        walks(12, 20, 2 * i + 1, 0, exponential), 0.95, 5, workers);
    });
    CHECK(r.rejected == Approx(0.05).margin(0.044));
    CHECK(r.outside < 0.13);
  }
  SECTION("against exact values") {
    const Rates r = rates(kTrials, [&](int i) {
      return difference(constant(0, 20), walks(12, 20, 3 * i, 0, normal), 0.95, 5, workers);
    });
    CHECK(r.rejected < 0.094);  // resamples of few runs are more often alike than independent runs
    CHECK(r.outside < 0.094);
  }
  SECTION("against exact values, skewed like a loss: squares of walks") {
    // Random signs, as for symmetric distributions, would miss the truth in a third of the trials.
    const Rates r = rates(kTrials, [&](int i) {
      Paths runs = walks(16, 20, 5 * i, 0, normal);
      for (std::size_t run = 0; run < runs.runs; ++run)
        for (std::size_t t = 0; t < 20; ++t) {
          double& x = runs.values[run * 20 + t];
          x = x * x - static_cast<double>(t);
        }
      return difference(constant(0, 20), runs, 0.95, 5, workers);
    });
    CHECK(r.rejected < 0.094);
    CHECK(r.outside < 0.094);
  }
  SECTION("few runs with a larger spread than many runs") {
    // Permutations of all runs alone would reject 0.1 to 0.2 of the trials.
    const Rates r = rates(kTrials, [&](int i) {
      Paths few = walks(8, 20, 7 * i, 0, normal);
      for (double& x : few.values) x *= 3;
      return difference(walks(64, 20, 7 * i + 1, 0, normal), few, 0.95, 5, workers);
    });
    CHECK(r.rejected < 0.05);
    CHECK(r.outside < 0.05);
  }
}

TEST_CASE("most comparisons with the requested number of runs decide", "[slow][compare]") {
  // Distributions are equal, and few runs do not decide at this margin. Each of 40 undecided
  // comparisons requests a number of runs. With these numbers at least 60% decide, and few
  // comparisons request many times as many runs.
  Workers workers(1);
  constexpr double kMargin = 8;
  const auto judged = [&](std::size_t runs, std::uint64_t seed) {
    const Difference d = difference(walks(runs, 20, 2 * seed, 0, normal),
                                    walks(runs, 20, 2 * seed + 1, 0, normal), 0.95, 5, workers);
    return verdict(d, kMargin, 0.95, runs);
  };
  int asked = 0, decided = 0;
  std::vector<double> needed;
  for (std::uint64_t i = 0; asked < 40; ++i) {
    const Verdict first = judged(6, 1000 + i);
    if (first.kind != Verdict::Kind::undecided) continue;
    ++asked;
    needed.push_back(first.runs_needed);
    const Verdict again = judged(static_cast<std::size_t>(first.runs_needed), 5000 + i);
    decided += again.kind == Verdict::Kind::undecided ? 0 : 1;
  }
  std::sort(needed.begin(), needed.end());
  INFO(decided << " of " << asked << " decided; median " << needed[20] << ", largest "
               << needed.back());
  CHECK(decided >= 24);
  CHECK(needed.back() < 200);
}

TEST_CASE("a known difference is detected with the predicted power", "[slow][compare]") {
  // Means differ by `shift` per step, with 32 runs each. At the second of 2 times the test is
  // Student's with noncentrality shift sqrt(n/2): for 0.7125 its power is 0.807 with 62 degrees of
  // freedom at level 0.05.
  Workers workers(1);
  constexpr int kTrials = 400;
  const double shift = 0.7125;
  const Rates r = rates(
      kTrials,
      [&](int i) {
        return difference(walks(32, 2, 2 * i, 0, normal), walks(32, 2, 2 * i + 1, shift, normal),
                          0.95, 5, workers);
      },
      shift);
  CHECK(r.rejected == Approx(0.807).margin(0.08));  // 4 binomial standard errors
  CHECK(r.outside < 0.10);
}

TEST_CASE("the energy distance agrees with its definition", "[fast][compare]") {
  const std::vector<double> x = {0.3, -1, 2, 0.7}, y = {1, 1.5, -0.2};
  const auto mean_distance = [](const auto& a, const auto& b) {
    double sum = 0;
    for (const double i : a)
      for (const double j : b) sum += std::abs(i - j);
    return sum / static_cast<double>(a.size() * b.size());
  };
  const EnergyDistance e = energy_distance(x, y, 1);
  CHECK(e.distance == Approx(2 * mean_distance(x, y) - mean_distance(x, x) - mean_distance(y, y)));
  std::vector<double> far;
  for (int i = 0; i < 20; ++i) far.push_back(10 + i);
  CHECK(energy_distance(x, far, 1).p_value <= 0.002);
  CHECK(energy_distance(x, x, 1).p_value == 1);
}

TEST_CASE("verdicts follow from difference, band, margin and p-value", "[fast][compare]") {
  Difference d;
  d.difference = {0, 0.1};
  d.error = {0, 0.02};
  d.band = {0, 0.05};
  d.alike = {1, 32};
  d.p_value = 0.001;
  using Kind = Verdict::Kind;
  // A significant difference that lies within the margin, or beyond it, or neither.
  CHECK(verdict(d, 0.2, 0.95, 32).kind == Kind::agree);
  CHECK(verdict(d, 0.04, 0.95, 32).kind == Kind::differ);
  CHECK(verdict(d, std::nan(""), 0.95, 32).kind == Kind::differ);
  const Verdict large = verdict(d, 0.08, 0.95, 32);
  CHECK(large.kind == Kind::undecided);
  CHECK(large.runs_needed == Approx(32 * 3.5 * 3.5));  // until the band is 0.02
  using Reason = Verdict::Reason;
  CHECK(large.reason == Reason::margin);
  CHECK(verdict(d, 0.2, 0.95, 32).reason == Reason::none);
  CHECK(verdict(d, 0.08, 0.95, 5, 6).reason == Reason::few_runs);
  // without the allowance for skewness the difference would be beyond 0.08
  d.gaussian_band = {0, 0.01};
  CHECK(verdict(d, 0.08, 0.95, 32).reason == Reason::skewness);
  CHECK(verdict(d, 0.12, 0.95, 32).reason == Reason::skewness);
  CHECK(verdict(d, 0.1, 0.95, 32).reason == Reason::margin);
  CHECK(verdict(d, 0.12, 0.95, 32).kind == Kind::undecided);
  CHECK(verdict(d, 0.1, 0.95, 32).kind == Kind::undecided);
  // the difference equals the margin, so no number of runs decides
  CHECK(std::isnan(verdict(d, 0.1, 0.95, 32).runs_needed));
  d.p_value = 0.2;
  const Verdict open = verdict(d, 0.12, 0.95, 32);
  CHECK(open.kind == Kind::undecided);
  CHECK(open.runs_needed == Approx(32 * 3.5 * 3.5));
  const Verdict beyond = verdict(d, 0.03, 0.95, 40);
  CHECK(beyond.runs_needed == 41);  // the difference is already larger than the band
  d.difference[1] = 0.04;  // This difference may be due to chance, so the estimate of the true
                           // difference shrinks too.
  CHECK(verdict(d, 0.055, 0.95, 32).runs_needed == Approx(32 * 4));
  CHECK(verdict(d, 0.022, 0.95, 32).runs_needed == Approx(32 * 25));
  CHECK(verdict(d, std::nan(""), 0.95, 32).kind == Kind::undecided);
}

TEST_CASE("a difference equal to the margin is rarely called within it or beyond it",
          "[slow][compare]") {
  // 400 trials of 12 runs each, whose means differ by the margin at the end. A verdict is wrong
  // only if the band misses the truth. A band does so on each side in 2.5% of the trials, and an
  // asymptotic band up to twice as often. 4 binomial standard errors are 4%.
  Workers workers(1);
  constexpr int kTrials = 400;
  constexpr double kShift = 0.3;
  constexpr std::size_t kSaves = 20;
  int agree = 0, differ = 0;
  for (int i = 0; i < kTrials; ++i) {
    const Difference d = difference(walks(12, kSaves, 2 * i, 0, normal),
                                    walks(12, kSaves, 2 * i + 1, kShift, normal), 0.95, 5, workers);
    const Verdict v = verdict(d, kShift * (kSaves - 1), 0.95, 12);
    agree += v.kind == Verdict::Kind::agree ? 1 : 0;
    differ += v.kind == Verdict::Kind::differ ? 1 : 0;
  }
  CHECK(agree < 0.09 * kTrials);
  CHECK(differ < 0.09 * kTrials);
}

TEST_CASE("two exact rungs agree or differ without a test", "[fast][compare]") {
  Workers workers(1);
  const Difference d = difference(constant(1, 3), constant(1.5, 3), 0.95, 1, workers);
  CHECK(verdict(d, 0.6, 0.95, 1).kind == Verdict::Kind::agree);
  CHECK(verdict(d, 0.4, 0.95, 1).kind == Verdict::Kind::differ);
}

TEST_CASE("a difference within rounding counts as no difference", "[fast][compare]") {
  // Runs start at the same value, which the exact rung rounds differently, and spread later.
  Workers workers(1);
  Paths runs = walks(12, 4, 3, 0, normal);
  Paths exact = constant(0, 4);
  for (double& value : runs.values) value += 3;
  for (double& value : exact.values) value += 3;
  const Difference same = difference(exact, runs, 0.95, 5, workers);
  exact.values[0] += 4e-16;
  const Difference rounded = difference(exact, runs, 0.95, 5, workers);
  CHECK(std::isnan(rounded.z[0]));
  CHECK(rounded.p_value == same.p_value);
  CHECK_FALSE(rounded.nothing);
  // more than rounding: all runs have the same start and the exact rung does not
  exact.values[0] += 1e-9;
  CHECK(difference(exact, runs, 0.95, 5, workers).p_value == 0.001);

  const Difference nothing =
      difference(constant(1, 3), constant(std::nextafter(1, 2), 3), 0.95, 1, workers);
  CHECK(nothing.nothing);
  CHECK(verdict(nothing, std::nan(""), 0.95, 1).kind == Verdict::Kind::agree);
}

TEST_CASE("tests of too few runs cannot reject, and verdicts request enough runs",
          "[fast][compare]") {
  CHECK(smallest_p_value(0, 4) == Approx(1.0 / 64));
  CHECK(smallest_p_value(4, 4) == Approx(2.0 / 70));
  CHECK(smallest_p_value(3, 5) == Approx(1.0 / 56));
  CHECK(least_runs(true, 0.95) == 4);
  CHECK(least_runs(false, 0.95) == 4);
  // All runs lie on the same side of the exact values, which gives the smallest possible p-value.
  Workers workers(1);
  for (const std::size_t n : {3, 4}) {
    Paths runs{n, 1, {}, false};
    for (std::size_t i = 0; i < n; ++i) runs.values.push_back(1 + 0.01 * static_cast<double>(i));
    const Difference d = difference(constant(0, 1), runs, 0.95, 1, workers);
    const Verdict v = verdict(d, 0.5, 0.95, n, least_runs(true, 0.95));
    INFO(n << " runs, p = " << d.p_value);
    if (n == 4) CHECK(v.kind == Verdict::Kind::differ);
    if (n == 3) CHECK(v.kind == Verdict::Kind::undecided);
    if (n == 3) CHECK(v.reason == Verdict::Reason::few_runs);
    if (n == 3) CHECK(v.runs_needed == 4);
  }
}

TEST_CASE("a p-value on the boundary of the level rejects", "[fast][compare]") {
  // In floating point 1 - 0.9 is less than 0.1.
  for (const double level : {0.5, 0.9, 0.95, 0.99, 0.999, 0.9999}) {
    const double p = std::round((1 - level) * 1e4) / 1e4;
    INFO("p = " << p << " at " << level);
    CHECK(rejects(p, level));
    CHECK(!rejects(p * (1 + 1e-6), level));
  }
  CHECK(!rejects(std::nan(""), 0.95));
  CHECK(least_runs(false, 0.9) == 3);  // 2 of the 20 permutations of 3 and 3 runs
}

TEST_CASE("one run is too few for a verdict", "[fast][compare]") {
  Workers workers(1);
  const Difference d = difference(constant(0, 3), walks(1, 3, 1, 0.1, normal), 0.95, 1, workers);
  const Verdict v = verdict(d, 100, 0.95, 1);
  CHECK(v.kind == Verdict::Kind::undecided);
  CHECK(v.reason == Verdict::Reason::few_runs);
  CHECK(std::isnan(v.runs_needed));
}

TEST_CASE("Fisher's exact test gives the known p-values (the lady tasting tea)",
          "[fast][compare]") {
  CHECK(proportions_p_value(3, 4, 1, 4) == Approx(34.0 / 70));
  CHECK(proportions_p_value(0, 32, 0, 32) == 1);
  CHECK(proportions_p_value(32, 32, 0, 32) < 1e-15);
}

TEST_CASE("statistics have the same bits on any number of threads", "[fast][compare]") {
  Workers one(1), four(4);
  const Paths a = walks(40, 50, 1, 0, normal), b = walks(40, 50, 2, 0.1, normal);
  const Difference x = difference(a, b, 0.95, 3, one), y = difference(a, b, 0.95, 3, four);
  CHECK(x.p_value == y.p_value);
  CHECK(x.band == y.band);
}

}  // namespace
}  // namespace popflow::test
