#include "popflow/random.hpp"

#include <algorithm>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <vector>

#include "support/catch.hpp"

using popflow::Purpose;
using popflow::RandomStream;

namespace {

using Philox = r123::Philox4x32;

Philox::ctr_type philox(Philox::ctr_type counter, Philox::key_type key) {
  return Philox{}(counter, key);
}

/// Bound on an error in standard errors: a mean of many values exceeds it for one seed in 1.7
/// million.
constexpr double bound = 5;

template <class Draw>
double mean_of(int n, Draw draw) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += draw();
  return sum / n;
}

}  // namespace

// Philox's known answers published with Random123: counter and key are all zeros, all ones or
// digits of pi.
TEST_CASE("Philox4x32-10 gives its published answers", "[fast][random]") {
  CHECK(philox({{0, 0, 0, 0}}, {{0, 0}}) ==
        Philox::ctr_type{{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
  const std::uint32_t ones = 0xffffffff;
  CHECK(philox({{ones, ones, ones, ones}}, {{ones, ones}}) ==
        Philox::ctr_type{{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
  CHECK(philox({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, {{0xa4093822, 0x299f31d0}}) ==
        Philox::ctr_type{{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
}

TEST_CASE("A stream can skip words", "[fast][random]") {
  for (const int before : {0, 1, 2, 3}) {
    for (const int words : {0, 1, 2, 3, 4, 5, 1000, 1001}) {
      RandomStream drawn(3, Purpose::test, 1, 4);
      RandomStream passed = drawn;
      for (int i = 0; i < before; ++i) CHECK(drawn() == passed());
      for (int i = 0; i < words; ++i) (void)drawn();
      passed.discard(static_cast<std::uint64_t>(words));
      for (int i = 0; i < 5; ++i) CHECK(drawn() == passed());
    }
  }
  const std::uint64_t all = std::uint64_t{1} << 33;
  RandomStream to_its_end(3, Purpose::test);
  to_its_end.discard(all - 1);
  CHECK_NOTHROW(to_its_end());
  CHECK_THROWS_AS(to_its_end(), std::length_error);
  to_its_end.discard(0);
  CHECK_THROWS_AS(to_its_end.discard(1), std::length_error);
  RandomStream beyond(3, Purpose::test);
  (void)beyond();
  CHECK_THROWS_AS(beyond.discard(all), std::length_error);
  CHECK_NOTHROW(beyond.discard(all - 1));
  CHECK_THROWS_AS(beyond(), std::length_error);
}

TEST_CASE("A stream is Philox at the documented counter", "[fast][random]") {
  RandomStream zero(0, static_cast<Purpose>(0));
  CHECK(zero() == 0xe169c58d6627e8d5u);
  CHECK(zero() == 0x9b00dbd8bc57ac4cu);

  RandomStream stream(0x299f31d0a4093822u, Purpose::noise, 0x13198a2e, 0x0370'7385'a308'd3u);
  for (std::uint32_t block = 0; block < 3; ++block) {
    const auto words =
        philox({{block, 0x85a308d3u, 0x13198a2eu, 0x03707300u | 4u}}, {{0xa4093822u, 0x299f31d0u}});
    CHECK(stream() == (std::uint64_t{words[1]} << 32 | words[0]));
    CHECK(stream() == (std::uint64_t{words[3]} << 32 | words[2]));
  }
}

TEST_CASE("Streams differ in every part of their name, and repeat", "[fast][random]") {
  std::set<std::uint64_t> first;
  std::size_t streams = 0;
  const std::vector<std::uint64_t> steps = {0, 1, 2, std::uint64_t{1} << 32,
                                            std::uint64_t{1} << 55};
  for (const std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{1} << 32}) {
    for (const Purpose purpose : {Purpose::problem, Purpose::start, Purpose::noise}) {
      for (const std::uint32_t run : {0u, 1u, 0xffffffffu}) {
        for (const std::uint64_t step : steps) {
          RandomStream stream(seed, purpose, run, step);
          RandomStream again(seed, purpose, run, step);
          for (int i = 0; i < 4; ++i) {
            const std::uint64_t word = stream();
            CHECK(word == again());
            first.insert(word);
            ++streams;
          }
        }
      }
    }
  }
  CHECK(first.size() == streams);
  CHECK_THROWS_AS(RandomStream(1, Purpose::noise, 0, std::uint64_t{1} << 56), std::out_of_range);
}

TEST_CASE("Uniform numbers stay inside (0,1) and have the uniform distribution's moments",
          "[fast][random]") {
  RandomStream stream(1, Purpose::test);
  const int n = 200000;
  double low = 1;
  double high = 0;
  double square = 0;
  const double mean = mean_of(n, [&] {
    const double u = stream.uniform();
    low = std::min(low, u);
    high = std::max(high, u);
    square += (u - 0.5) * (u - 0.5);
    return u;
  });
  CHECK(low > 0);
  CHECK(high < 1);
  CHECK(low < 1e-4);
  CHECK(high > 1 - 1e-4);
  CHECK(std::abs(mean - 0.5) < bound * std::sqrt(1.0 / 12 / n));
  CHECK(std::abs(square / n - 1.0 / 12) < bound * std::sqrt(1.0 / 180 / n));
}

TEST_CASE("Normal numbers have the moments of the standard normal", "[fast][random]") {
  RandomStream stream(2, Purpose::test);
  const int n = 200000;
  double moment[5] = {};
  double successive = 0;
  double before = 0;
  for (int i = 0; i < n; ++i) {
    const double x = stream.normal();
    for (int k = 1; k <= 4; ++k) moment[k] += std::pow(x, k) / n;
    successive += x * before / n;
    before = x;
  }
  // Variances of x, x^2, x^3, x^4 are 1, 2, 15, 96.
  CHECK(std::abs(moment[1]) < bound * std::sqrt(1.0 / n));
  CHECK(std::abs(moment[2] - 1) < bound * std::sqrt(2.0 / n));
  CHECK(std::abs(moment[3]) < bound * std::sqrt(15.0 / n));
  CHECK(std::abs(moment[4] - 3) < bound * std::sqrt(96.0 / n));
  CHECK(std::abs(successive) < bound * std::sqrt(1.0 / n));
}

TEST_CASE("Log-gamma variates have mean digamma and variance trigamma", "[fast][random]") {
  const double shape = GENERATE(1e-8, 0.01, 0.3, 1.0, 2.5, 40.0, 1e4);
  RandomStream stream(3, Purpose::test);
  const int n = 100000;
  const double expected = boost::math::digamma(shape);
  const double variance = boost::math::trigamma(shape);
  std::vector<double> draws(n);
  const double mean =
      mean_of(n, [&, i = 0]() mutable { return draws[i++] = stream.log_gamma_variate(shape); });
  CAPTURE(shape, mean, expected);
  CHECK(std::abs(mean - expected) < bound * std::sqrt(variance / n));
  double square = 0;
  for (const double x : draws) square += (x - expected) * (x - expected) / n;
  // The kurtosis of the logarithm is at most 9, its limit at small shapes (an exponential
  // distribution).
  CHECK(std::abs(square / variance - 1) < bound * std::sqrt(8.0 / n));
}

TEST_CASE("Numbers below n are uniform", "[fast][random]") {
  RandomStream stream(4, Purpose::test);
  const int n = 70000;
  int count[7] = {};
  for (int i = 0; i < n; ++i) ++count[stream.below(7)];
  double chi_square = 0;
  for (const int c : count) chi_square += (c - n / 7.0) * (c - n / 7.0) / (n / 7.0);
  CHECK(chi_square < 40);  // 6 degrees of freedom: exceeded once in 2 million

  // Without rejection a range of 3/4 of all words would give every third result twice the chance.
  const std::uint64_t large = std::uint64_t{3} << 62;
  int third[3] = {};
  for (int i = 0; i < 30000; ++i) {
    const std::uint64_t x = stream.below(large);
    REQUIRE(x < large);
    ++third[x % 3];
  }
  chi_square = 0;
  for (const int c : third) chi_square += (c - 1e4) * (c - 1e4) / 1e4;
  CHECK(chi_square < 29);  // 2 degrees of freedom: exceeded once in 2 million

  CHECK(stream.below(1) == 0);
  CHECK_THROWS_AS(stream.below(0), std::invalid_argument);
}
