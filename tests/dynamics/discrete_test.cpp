#include "dynamics/common/discrete.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

#include "popflow/random.hpp"
#include "support/catch.hpp"

namespace popflow::test {
namespace {

TEST_CASE("a discrete distribution draws each index as often as its weight says", "[fast][noise]") {
  // Draws with 2^20 evenly spaced words. In every column an index has at most two borders, each of
  // which adds an error of up to 2^-20.
  const std::vector<std::vector<double>> cases = {{1},
                                                  {0.5, 0.01, 0.2, 0, 0.09, 0.15, 0.05},
                                                  {3, 3, 3},
                                                  {0, 0, 7, 0},
                                                  {1e-12, 1, 1e-12, 2e-3, 0}};
  for (const std::vector<double>& weights : cases) {
    const DiscreteDistribution distribution(weights);
    REQUIRE(distribution.size() == weights.size());
    std::vector<double> found(weights.size());
    constexpr std::uint64_t kWords = std::uint64_t{1} << 20;
    for (std::uint64_t i = 0; i < kWords; ++i)
      found[distribution(i << 44 | std::uint64_t{1} << 43)] += 1.0 / kWords;
    double sum = 0;
    for (const double weight : weights) sum += weight;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      INFO(i << " of " << weights.size());
      CHECK(std::abs(found[i] - weights[i] / sum) <=
            2.0 * static_cast<double>(weights.size()) / kWords);
      if (weights[i] == 0) CHECK(found[i] == 0);
    }
  }
}

TEST_CASE("a block of words gives the same indices as single words", "[fast][noise]") {
  RandomStream random(3, Purpose::test);
  for (const std::size_t size : {1U, 2U, 20U, 2000U}) {
    std::vector<double> weights(size);
    for (double& weight : weights) weight = random.uniform() < 0.3 ? 0 : random.uniform();
    weights[size / 2] = 1;
    const DiscreteDistribution distribution(weights);
    for (const std::size_t number : {0U, 1U, 7U, 8U, 9U, 1001U}) {
      std::vector<std::uint64_t> words(number);
      std::vector<std::uint32_t> halves, alone, together(number, 77);
      for (std::uint64_t& word : words) {
        word = random();
        // Some words are the least, the largest, or at borders of columns.
        if (number > 9 && &word - words.data() < 4)
          word = ~std::uint64_t{0} / 3 * static_cast<std::uint64_t>(&word - words.data());
        halves.push_back(static_cast<std::uint32_t>(word));
        halves.push_back(static_cast<std::uint32_t>(word >> 32));
        alone.push_back(distribution(word));
      }
      distribution.draw(number, halves.data(), together.data());
      CHECK(together == alone);
    }
  }
}

TEST_CASE("the last random word gives a valid index of a discrete distribution", "[fast][noise]") {
  // The weights' shares don't round to whole columns.
  for (int n = 1; n < 200; ++n) {
    std::vector<double> weights(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i)
      weights[static_cast<std::size_t>(i)] = i % 3 == 0 ? 0 : 0.1 + 1.0 / i;
    if (n == 1) weights[0] = 1;
    const DiscreteDistribution distribution(weights);
    for (std::uint64_t column = 0; column < 2 * static_cast<std::uint64_t>(n); ++column) {
      // The largest word below a border of columns.
      const auto word = static_cast<std::uint64_t>(
          (static_cast<long double>(column + 1) / (2 * n)) * 0x1p64L - 1);
      CHECK(weights[distribution(word)] > 0);
    }
    CHECK(weights[distribution(~std::uint64_t{0})] > 0);
  }
}

}  // namespace
}  // namespace popflow::test
