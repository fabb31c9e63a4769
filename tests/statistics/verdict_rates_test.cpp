// Error rates of verdicts on times, shares and ratios: wrong *differ* and wrong *agree* at a true
// difference of exactly the margin, and the coverage of intervals.

#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <functional>
#include <iomanip>
#include <iostream>
#include <limits>
#include <string>
#include "support/catch.hpp"

#include "compare/over_time.hpp"
#include "compare/when.hpp"
#include "popflow/random.hpp"
#include "statistics/difference.hpp"
#include "statistics/margins.hpp"
#include "statistics/medians.hpp"
#include "statistics/shares.hpp"
#include "statistics/verdict.hpp"

namespace popflow::test {
namespace {

constexpr double kLevel = 0.95;

/// Fractions of all trials.
struct ErrorRates {
  double missed = 0;  ///< the interval does not contain the truth
  double agree = 0, differ = 0;
};

using Draw = std::function<double(RandomStream&)>;

// ---- Times: distributions with median 1

struct Law {
  const char* name;
  Draw draw;
};
const std::vector<Law>& laws_of_times() {
  static const std::vector<Law> laws = {
      {"normal", [](RandomStream& r) { return 1 + 0.1 * r.normal(); }},
      {"log-normal", [](RandomStream& r) { return std::exp(0.5 * r.normal()); }},
      {"exponential", [](RandomStream& r) { return -std::log(r.uniform()) / std::log(2.0); }},
      {"lattice", [](RandomStream& r) { return 1 + 0.05 * std::round(2 * r.normal()); }},
      {"censored", [](RandomStream& r) {
         const double time = -std::log(r.uniform()) / std::log(2.0);
         return time > 1.3 ? std::numeric_limits<double>::infinity() : time;
       }}};
  return laws;
}

enum class Against { exact, unpaired, paired };

/// Draws medians that differ by exactly the margin.
ErrorRates rates_of_times(const Law& law, std::size_t n, Against against, int trials) {
  constexpr double kMargin = 0.05, kEnd = 100;
  ErrorRates rates;
  const double share = 1.0 / trials;
  for (int trial = 0; trial < trials; ++trial) {
    RandomStream random(trial + 1, Purpose::test, static_cast<std::uint32_t>(n));
    std::vector<double> first, second;
    std::vector<std::pair<double, double>> pairs;
    for (std::size_t run = 0; run < n; ++run) {
      const double own = law.draw(random);
      second.push_back(own + kMargin);
      // In paired runs half of the pairs have equal times.
      const bool alike = against == Against::paired && random.uniform() < 0.5;
      first.push_back(alike ? own : law.draw(random));
      pairs.emplace_back(first.back(), second.back());
    }
    const bool exact = against == Against::exact;
    const PassageTimes a(exact ? std::vector<double>{1} : first, kEnd, exact),
        b(second, kEnd, false);
    const Intervals intervals = [&](double level) {
      return against == Against::paired && n >= 16
                 ? paired_median_difference(pairs, level, static_cast<std::uint64_t>(trial))
                 : median_difference(a, b, level);
    };
    const Interval at = intervals(kLevel);
    const double rounding = 1e-9;
    rates.missed += at.low > kMargin + rounding || at.high < kMargin - rounding ? share : 0;
    // On a lattice interval ends may equal the margin, and neither verdict is wrong.
    const double apart = b.median() - a.median();
    const auto kind = [&](double margin) {
      return verdict(intervals, apart, margin, kLevel, kLevel, n).kind;
    };
    rates.agree += kind(kMargin * (1 - 1e-9)) == Verdict::Kind::agree ? share : 0;
    rates.differ += kind(kMargin * (1 + 1e-9)) == Verdict::Kind::differ ? share : 0;
  }
  return rates;
}

// ---- Ratios: logarithms of positive observables along time

const std::vector<Law>& laws_of_logarithms() {
  static const std::vector<Law> laws = {
      {"normal", [](RandomStream& r) { return 0.5 * r.normal(); }},
      {"log of exponential",
       [](RandomStream& r) { return std::log(-std::log(r.uniform())) + 0.57721566490153286; }},
      {"log of chi^2_1", [](RandomStream& r) {
         const double x = r.normal();
         return std::log(x * x) + 1.2703628454614782;
       }}};
  return laws;
}

Paths logarithms(const Law& law, std::size_t n, double shift, std::uint64_t seed) {
  constexpr std::size_t kTimes = 8;
  Paths paths{n, kTimes, {}, false};
  for (std::size_t run = 0; run < n; ++run) {
    RandomStream random(seed, Purpose::test, static_cast<std::uint32_t>(run));
    double common = law.draw(random);
    for (std::size_t t = 0; t < kTimes; ++t) {
      // All paths start at the same value; later times share half of their logarithm.
      paths.values.push_back(t == 0 ? 0 : 0.5 * (common + law.draw(random)) + shift);
    }
  }
  return paths;
}

ErrorRates rates_of_ratios(const Law& law, std::size_t n, bool exact, int trials) {
  const double margin = std::log(1.5);
  Workers workers(1);
  ErrorRates rates;
  const double share = 1.0 / trials;
  for (int trial = 0; trial < trials; ++trial) {
    const auto seed = static_cast<std::uint64_t>(2 * trial + 1);
    const Paths flow{1, 8, std::vector<double>(8, 0), true};
    const Paths first = exact ? flow : logarithms(law, n, 0, seed);
    const Paths second = logarithms(law, n, margin, seed + 1);
    const Difference d = difference(first, second, kLevel, 5, workers);
    bool missed = false;
    for (std::size_t t = 1; t < d.difference.size(); ++t)
      missed = missed || std::abs(d.difference[t] - margin) > d.band[t];
    rates.missed += missed ? share : 0;
    const Verdict v = verdict(d, margin, kLevel, n);
    rates.agree += v.kind == Verdict::Kind::agree ? share : 0;
    rates.differ +=
        v.kind == Verdict::Kind::differ &&
                rejects(p_value_within(first, second, d, margin, kLevel, 5, workers), kLevel)
            ? share
            : 0;
  }
  return rates;
}

/// Runs whose values fluctuate around a floor: squares of a stationary Gaussian process with
/// correlation 0.5 between neighbouring saves, times `size`.
Paths at_a_floor(std::size_t n, double size, std::uint64_t seed) {
  Paths paths{n, 101, {}, false};
  for (std::size_t run = 0; run < n; ++run) {
    RandomStream random(seed, Purpose::test, static_cast<std::uint32_t>(run));
    double x = random.normal();
    for (std::size_t t = 0; t < paths.times; ++t) {
      x = 0.5 * x + std::sqrt(0.75) * random.normal();
      paths.values.push_back(size * x * x);
    }
  }
  return paths;
}

/// Verdicts of comparisons of 32 runs with 32 runs whose floor is `ratio` times as high.
ErrorRates rates_of_floors(double ratio, int trials) {
  Workers workers(1);
  ComparisonOptions options;
  for (int t = 0; t <= 100; ++t) options.times.push_back(t);
  ErrorRates rates;
  const double share = 1.0 / trials;
  for (int trial = 0; trial < trials; ++trial) {
    const auto seed = static_cast<std::uint64_t>(2 * trial + 1);
    const Paths first = at_a_floor(32, 1, seed), second = at_a_floor(32, ratio, seed + 1);
    const std::vector<const Paths*> paths = {&first, &second};
    std::vector<Moments> means;
    for (const Paths* rung : paths) means.push_back(moments(*rung, kLevel));
    const OverSaves depth =
        compare_depths({"x", "", "", "", 1e-12}, paths, means, options, workers);
    const Judgement& of = depth.statement.pairs[0];
    rates.agree += of.verdict.kind == Verdict::Kind::agree ? share : 0;
    rates.differ +=
        of.verdict.kind == Verdict::Kind::differ && rejects(of.p_value, kLevel) ? share : 0;
    REQUIRE(depth.differences[0].band.size() == options.times.size());
  }
  return rates;
}

// ---- Shares: exact sums over all outcomes, without simulation

ErrorRates rates_of_shares(double p1, double p2, std::size_t n, bool exact) {
  using boost::math::binomial_distribution;
  ErrorRates rates;
  const auto of = static_cast<double>(n);
  for (std::size_t i = 0; i <= (exact ? 0 : n); ++i) {
    const double weight = exact ? 1 : pdf(binomial_distribution<>(of, p1), static_cast<double>(i));
    const Share first = exact ? Share{1, 1, true} : Share{i, n, false};
    for (std::size_t j = 0; j <= n; ++j) {
      const double both = weight * pdf(binomial_distribution<>(of, p2), static_cast<double>(j));
      if (both < 1e-9) continue;
      const Share second{j, n, false};
      const Intervals intervals = [&](double level) {
        return share_difference(first, second, level);
      };
      const Interval at = intervals(kLevel);
      const double margin = std::abs(p2 - p1) * (1 + 1e-9);
      rates.missed += at.low > p2 - p1 + 1e-9 || at.high < p2 - p1 - 1e-9 ? both : 0;
      const Verdict v =
          verdict(intervals, second.value() - first.value(), margin, kLevel, 2 * kLevel - 1, n);
      rates.agree += v.kind == Verdict::Kind::agree ? both : 0;
      rates.differ += v.kind == Verdict::Kind::differ ? both : 0;
    }
  }
  return rates;
}

void print(const std::string& what, std::size_t n, const ErrorRates& rates) {
  std::cout << "| " << what << " | " << n << " | " << std::fixed << std::setprecision(3)
            << 1 - rates.missed << " | " << rates.agree << " | " << rates.differ << " |\n";
}

TEST_CASE("error rates of verdicts on times, shares and ratios are those of docs/noise.md",
          "[nightly][rates]") {
  for (const std::size_t n : {8, 16, 32, 100}) {
    for (const Law& law : laws_of_times())
      for (const Against against : {Against::exact, Against::unpaired, Against::paired})
        print(std::string("time, ") + law.name +
                  (against == Against::exact      ? ", flow"
                   : against == Against::unpaired ? ", unpaired"
                                                  : ", paired"),
              n, rates_of_times(law, n, against, 2000));
    for (const auto& [p1, p2] : {std::pair{1.0, 0.9}, {0.95, 0.85}, {0.6, 0.5}})
      print("share, " + std::to_string(p1) + " and " + std::to_string(p2), n,
            rates_of_shares(p1, p2, n, false));
    print("share, flow 1 and 0.9", n, rates_of_shares(1, 0.9, n, true));
    for (const Law& law : laws_of_logarithms())
      for (const bool exact : {true, false})
        print(std::string("ratio, ") + law.name + (exact ? ", flow" : ", unpaired"), n,
              rates_of_ratios(law, n, exact, 400));
  }
  for (const double ratio : {1.5, 1.9})
    print("floors, factor " + std::to_string(ratio), 32, rates_of_floors(ratio, 400));
}

TEST_CASE("at exactly the margin verdicts on times are rarely wrong, and intervals cover",
          "[fast][numbers][compare]") {
  // 400 trials; 4 binomial standard errors are 4.4% at a rate of 5%, and 3.1% at 2.5%.
  for (const std::size_t n : {8, 32})
    for (const Law& law : laws_of_times())
      for (const Against against : {Against::exact, Against::unpaired}) {
        const ErrorRates rates = rates_of_times(law, n, against, 400);
        INFO(law.name << ", " << n << " runs, " << int(against));
        CHECK(rates.missed <= 0.05 + 0.044);
        CHECK(rates.agree <= 0.025 + 0.031);
        CHECK(rates.differ <= 0.025 + 0.031);
      }
}

TEST_CASE("at exactly the margin verdicts on shares are rarely wrong", "[fast][numbers][compare]") {
  for (const std::size_t n : {8, 16, 32})
    for (const auto& [p1, p2] : {std::pair{1.0, 0.9}, {0.95, 0.85}, {0.6, 0.5}}) {
      const ErrorRates rates = rates_of_shares(p1, p2, n, false);
      INFO(n << " runs, " << p1 << " and " << p2);
      CHECK(rates.missed <= 0.05);
      CHECK(rates.agree <= 0.05);
      CHECK(rates.differ <= 0.025);
    }
  const ErrorRates rates = rates_of_shares(1, 0.9, 32, true);
  CHECK(rates.agree == Approx(std::pow(0.9, 32)));
  CHECK(rates.missed <= 0.05);
}

TEST_CASE("at exactly the margin verdicts on ratios are rarely wrong", "[slow][compare]") {
  // 100 trials of 16 runs; 4 binomial standard errors are 8.7% at a rate of 5%.
  for (const Law& law : laws_of_logarithms()) {
    const ErrorRates rates = rates_of_ratios(law, 16, false, 100);
    INFO(law.name);
    CHECK(rates.missed <= 0.137);
    CHECK(rates.agree <= 0.087);
    CHECK(rates.differ <= 0.087);
  }
}

TEST_CASE("floors that differ by more than the margin are told apart, and rarely at the margin",
          "[slow][compare]") {
  // 100 trials; 4 binomial standard errors are 6.2% at a rate of 2.5%.
  CHECK(rates_of_floors(1.5, 100).differ <= 0.025 + 0.062);
  CHECK(rates_of_floors(1.9, 40).differ >= 0.3);  // 57% of 400
}

TEST_CASE("an event that half of many runs have is undecided because of the end, not the number",
          "[fast][compare]") {
  ComparisonOptions options;
  options.times = {0, 10};
  const auto runs_with_event = [](int with) {
    FirstTimes times;
    for (int run = 0; run < 100; ++run)
      times.runs.emplace_back(
          true, run < with ? 4 + 0.02 * run : std::numeric_limits<double>::infinity());
    return times;
  };
  const FirstTimes flow{{{true, 5.0}}, 0, true};
  for (const int with : {45, 50, 51, 55})
    for (const FirstTimes& first : {flow, runs_with_event(100)}) {
      const Statement time = judge_time({"event"}, {first, runs_with_event(with)}, options);
      INFO(with << " of 100 runs, against " << first.runs.size());
      CHECK(time.pairs[0].verdict.kind == Verdict::Kind::undecided);
      CHECK(time.pairs[0].verdict.reason == Verdict::Reason::beyond_end);
    }
}

TEST_CASE("medians count runs that did not pass as infinite times", "[fast][compare]") {
  const double never = std::numeric_limits<double>::infinity();
  const PassageTimes most({3, 1, never, 2, 4, 5}, 10, false);
  CHECK(most.median() == 3.5);
  CHECK(most.reached() == 5);
  CHECK(PassageTimes({1, never, never}, 10, false).median() == never);
  // With 6 runs the median lies between the smallest and the largest with probability 1 - 2/64.
  CHECK(most.interval(0.95).low == 1);
  CHECK(most.interval(0.95).high == never);
  CHECK(most.interval(0.99).low == -never);
  // If certainly fewer than half of the runs passed, the median lies after the end.
  CHECK(PassageTimes(std::vector<double>(9, never), 10, false).interval(0.95).low == 10);
  const PassageTimes flow({2}, 10, true);
  const Interval apart = median_difference(flow, most, 0.95);
  CHECK(apart.low == Approx(1 - 2));
  CHECK(apart.high == never);
}

TEST_CASE("Holm's correction gives the known p-values", "[fast][compare]") {
  const auto corrected = corrected_by_holm({{{0.01}}, {{0.04, 0.005}}, {{0.03}}});
  CHECK(corrected[0].p_values[0] == Approx(0.03));
  // 2 items times p = 0.005, times 3 remaining members
  CHECK(corrected[1].p_values[1] == Approx(0.03));
  CHECK(corrected[1].p_values[0] == Approx(0.16));
  CHECK(corrected[2].p_values[0] == Approx(0.03));
}

}  // namespace
}  // namespace popflow::test
