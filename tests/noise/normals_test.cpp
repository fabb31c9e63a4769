// Vectorised streams of bits and of normals: their documented layout, equal bits with all
// instruction sets, and the distribution of the numbers. Seeds are fixed; false-alarm rates are
// those of a random seed.

#include "noise/normals.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <stdexcept>
#include <vector>

#include "support/catch.hpp"

namespace popflow::test {
namespace {

constexpr std::size_t kGroup = 64;

std::vector<double> normals(std::uint64_t number, std::size_t first, std::size_t count,
                            InstructionSet set = InstructionSet::best) {
  std::vector<double> x(count);
  NormalPart(3, 1, number).write(first, x, set);
  return x;
}

/// Upper tail of the standard normal distribution.
double tail(double x) { return 0.5 * std::erfc(x / std::numbers::sqrt2); }

TEST_CASE("words drawn in blocks equal the stream's with every instruction set",
          "[fast][noise][random]") {
  const std::uint64_t step = 0x0370'7385'a308'd3u;
  const PhiloxKey key(0x299f31d0a4093822u, Purpose::noise, 0xfffffff3, step);
  RandomStream stream(0x299f31d0a4093822u, Purpose::noise, 0xfffffff3, step);
  for (const std::size_t blocks : {1, 7, 8, 37}) {
    for (const std::uint64_t first : {0, 1, 16}) {
      std::vector<std::uint32_t> words(4 * blocks);
      RandomStream from = stream;
      for (std::uint64_t i = 0; i < 2 * first; ++i) from();
      std::vector<std::uint32_t> expected;
      for (std::size_t i = 0; i < 2 * blocks; ++i) {
        const std::uint64_t word = from();
        expected.push_back(static_cast<std::uint32_t>(word));
        expected.push_back(static_cast<std::uint32_t>(word >> 32));
      }
      for (const InstructionSet set : kAllInstructionSets) {
        words.assign(words.size(), 0);
        stream_words(key, first, blocks, words.data(), set);
        CHECK(words == expected);
      }
    }
  }
  // The last blocks of a stream, where a counter of 32 bits would wrap around.
  std::vector<std::uint32_t> end(4 * 16), again(4 * 16);
  stream_words(key, kBlocksOfStream - 16, 16, end.data());
  for (const InstructionSet set : kAllInstructionSets) {
    again.assign(again.size(), 0);
    stream_words(key, kBlocksOfStream - 16, 16, again.data(), set);
    CHECK(end == again);
  }
  CHECK_THROWS_AS(stream_words(key, kBlocksOfStream - 1, 2, end.data()), std::length_error);
  CHECK_THROWS_AS(PhiloxKey(1, Purpose::noise, 0, std::uint64_t{1} << 56), std::out_of_range);
}

TEST_CASE("first words of successive streams equal the streams' with every instruction set",
          "[fast][noise][random]") {
  // The last step carries into the high half within a group.
  for (const std::uint64_t step : {0x0ull, 0x3'7385'a308'd3ull, 0x5'ffff'fffdull}) {
    const PhiloxKey key(0x299f31d0a4093822u, Purpose::samples, 0xfffffff3, step);
    for (const std::size_t streams : {1, 7, 8, 37}) {
      std::vector<std::uint32_t> expected, words(4 * streams);
      for (std::size_t i = 0; i < streams; ++i) {
        RandomStream stream(0x299f31d0a4093822u, Purpose::samples, 0xfffffff3, step + i);
        for (int half = 0; half < 2; ++half) {
          const std::uint64_t word = stream();
          expected.push_back(static_cast<std::uint32_t>(word));
          expected.push_back(static_cast<std::uint32_t>(word >> 32));
        }
        RandomStream again(0x299f31d0a4093822u, Purpose::samples, 0xfffffff3, step + i);
        const std::uint64_t first = std::uint64_t{expected[4 * i + 1]} << 32 | expected[4 * i];
        CHECK(uniform_of(first) == again.uniform());
      }
      for (const InstructionSet set : kAllInstructionSets) {
        words.assign(words.size(), 0);
        first_words(key, streams, words.data(), set);
        CHECK(words == expected);
      }
    }
  }
  std::uint32_t words[4 * 2];
  const PhiloxKey last(1, Purpose::noise, 0, (std::uint64_t{1} << 56) - 1);
  CHECK_NOTHROW(first_words(last, 1, words));
  CHECK_THROWS_AS(first_words(last, 2, words), std::out_of_range);
}

TEST_CASE("normals follow from the documented bits by Box and Muller's formula",
          "[fast][noise][random]") {
  constexpr std::size_t kGroups = 512;
  std::vector<std::uint32_t> words(4 * 16 * kGroups);
  stream_words({3, Purpose::noise, 1, 77}, 0, 16 * kGroups, words.data());
  const std::vector<double> x = normals(77, 0, kGroup * kGroups);
  double worst = 0;
  for (std::size_t g = 0; g < kGroups; ++g) {
    for (std::size_t p = 0; p < 4; ++p) {
      for (std::size_t lane = 0; lane < 8; ++lane) {
        const std::size_t at = 4 * (16 * g + 8 * (p / 2) + lane) + 2 * (p % 2);
        const std::uint64_t bits = std::uint64_t{words[at + 1]} << 32 | words[at];
        const long double u = (static_cast<long double>(bits >> 24) + 0.5L) * 0x1p-40L;
        const long double r = std::sqrt(-2 * std::log(u));
        const long double theta =
            std::numbers::pi_v<long double> *
            ((static_cast<long double>(bits & 0x7fffff) + 0.5L) * 0x1p-23L - 0.5L);
        const long double sign = (bits >> 23 & 1) != 0 ? -1 : 1;
        const std::size_t to = kGroup * g + 16 * p + lane;
        worst = std::max({worst, static_cast<double>(std::abs(x[to] - sign * r * std::cos(theta))),
                          static_cast<double>(std::abs(x[to + 8] - r * std::sin(theta)))});
      }
    }
  }
  CHECK(worst < 1e-11);
}

TEST_CASE("normals have the same bits with every instruction set", "[fast][noise][random]") {
  const std::vector<double> best = normals(5, 0, 10'000);
  for (const InstructionSet set : kAllInstructionSets) {
    const std::vector<double> other = normals(5, 0, 10'000, set);
    CHECK(std::memcmp(best.data(), other.data(), best.size() * sizeof(double)) == 0);
  }
  // Element j does not depend on the first element drawn, nor on the number of threads.
  for (const std::size_t first : {0, 1, 15, 63, 64, 70, 100, 1000}) {
    for (const std::size_t count : {1, 2, 16, 17, 30, 64, 65, 1000}) {
      for (const InstructionSet set : kAllInstructionSets) {
        const std::vector<double> part = normals(5, first, count, set);
        CHECK(std::memcmp(part.data(), best.data() + first, count * sizeof(double)) == 0);
      }
    }
  }
  for (const unsigned threads : {1U, 3U}) {
    Workers workers(threads);
    std::vector<double> filled(100'001);
    fill_normals(workers, 3, 1, 5, filled);
    const std::vector<double> whole = normals(5, 0, filled.size());
    CHECK(std::memcmp(filled.data(), whole.data(), filled.size() * sizeof(double)) == 0);
  }
}

TEST_CASE("parts, runs and seeds have different normals", "[fast][noise][random]") {
  std::vector<double> first;
  for (const std::uint64_t seed : {1, 2})
    for (const std::uint32_t run : {0U, 1U})
      for (const std::uint64_t number :
           {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 40})
        for (double& x : [&] {
               std::vector<double> some(200);
               NormalPart(seed, run, number).write(0, some);
               return some;
             }())
          first.push_back(x);
  std::sort(first.begin(), first.end());
  CHECK(std::adjacent_find(first.begin(), first.end()) == first.end());
  std::vector<double> two(2);
  CHECK_THROWS_AS(NormalPart(1, 0, 0).write(std::size_t{1} << 34, two), std::length_error);
  CHECK_THROWS_AS(NormalPart(1, 0, std::uint64_t{1} << 56), std::out_of_range);
}

TEST_CASE("normals have the moments of the standard normal", "[fast][noise][random]") {
  // Powers 1 to 8 of 2^22 numbers, each within 5 standard errors: one false alarm in 2e5 seeds.
  constexpr std::size_t kCount = std::size_t{1} << 22;
  const std::vector<double> x = normals(1, 0, kCount);
  const double moments[] = {1, 0, 1, 0, 3, 0, 15, 0, 105, 0, 945, 0, 10395, 0, 135135, 0, 2027025};
  for (int power = 1; power <= 8; ++power) {
    double sum = 0;
    for (const double v : x) sum += std::pow(v, power);
    const double variance = moments[2 * power] - moments[power] * moments[power];
    INFO("power " << power);
    CHECK(std::abs(sum / kCount - moments[power]) < 5 * std::sqrt(variance / kCount));
  }
}

TEST_CASE("neighbouring numbers, lanes and pairs of normals are independent",
          "[fast][noise][random]") {
  // Correlations of x and of x^2 at the distances of the layout (lanes 1, the two normals of a pair
  // 8, pairs 16, groups 64), between parts, and of |x| |y| signs. About 40 numbers within 5
  // standard errors: one false alarm in 4e4 seeds.
  constexpr std::size_t kCount = std::size_t{1} << 20;
  const std::vector<double> x = normals(1, 0, kCount + 256);
  const std::vector<double> other = normals(2, 0, kCount + 256);
  const auto check = [&](const std::vector<double>& y, std::size_t by) {
    double product = 0, squares = 0, mixed = 0, cubes = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      const double a = x[i], b = y[i + by];
      product += a * b;
      squares += (a * a - 1) * (b * b - 1);
      mixed += a * (b * b - 1);
      cubes += (a * a * a) * b - 3 * a * b;
    }
    INFO("distance " << by);
    CHECK(std::abs(product) < 5 * std::sqrt(1.0 * kCount));
    CHECK(std::abs(squares) < 5 * std::sqrt(4.0 * kCount));
    CHECK(std::abs(mixed) < 5 * std::sqrt(2.0 * kCount));
    CHECK(std::abs(cubes) < 5 * std::sqrt(6.0 * kCount));
  };
  for (const std::size_t by : {1, 2, 4, 8, 16, 24, 32, 64, 128}) check(x, by);
  check(other, 0);
}

TEST_CASE("normals have the normal distribution (Kolmogorov and Smirnov)",
          "[fast][noise][random]") {
  // sup |F_n - F| sqrt(n) > 2.7 with probability 2 exp(-2 2.7^2) = 1e-6.
  constexpr std::size_t kCount = std::size_t{1} << 20;
  std::vector<double> x = normals(9, 0, kCount);
  std::sort(x.begin(), x.end());
  double distance = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    const double below = 1 - tail(x[i]);
    const double n = kCount;
    distance = std::max(
        {distance, below - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - below});
  }
  CHECK(distance * std::sqrt(static_cast<double>(kCount)) < 2.7);
}

TEST_CASE("the tails of the normals are right", "[slow][noise][random]") {
  // Numbers beyond 1, ..., 5.5 on each side among 2^30. Counts lie within 5 standard deviations of
  // their expectation (20.4 at 5.5). The 12 counts give one false alarm in 1e5 seeds, the last
  // (Poisson) in 1e4.
  constexpr std::size_t kCount = std::size_t{1} << 30;
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  const double levels[] = {1, 2, 3, 4, 5, 5.5};
  std::uint64_t above[6] = {}, below[6] = {};
  std::vector<double> x(kPiece);
  const NormalPart part(4, 0, 0);
  for (std::size_t begin = 0; begin < kCount; begin += kPiece) {
    part.write(begin, x);
    for (int i = 0; i < 6; ++i) {
      const double level = levels[i];
      std::uint64_t high = 0, low = 0;
      for (const double v : x) {
        high += v > level ? 1 : 0;
        low += v < -level ? 1 : 0;
      }
      above[i] += high;
      below[i] += low;
    }
  }
  for (int i = 0; i < 6; ++i) {
    const double expected = tail(levels[i]) * static_cast<double>(kCount);
    INFO("beyond " << levels[i] << ", expected " << expected);
    CHECK(std::abs(static_cast<double>(above[i]) - expected) < 5 * std::sqrt(expected));
    CHECK(std::abs(static_cast<double>(below[i]) - expected) < 5 * std::sqrt(expected));
  }
}

}  // namespace
}  // namespace popflow::test
