#include "dynamics/scb/alias_table.hpp"

#include <limits>

#include "popflow/random.hpp"
#include "random/bits.hpp"
#include "support/catch.hpp"

namespace popflow::scb::test {
namespace {

TEST_CASE("An alias table draws outcomes with their probabilities", "[fast][scb][noise]") {
  // Over all 2^16 high halves of a random number each outcome's frequency is correct to 1/2^16.
  Eigen::VectorXd probabilities(7);
  probabilities << 0.5, 0.01, 0.2, 0, 0.09, 0.15, 0.05;
  const AliasTable table(probabilities);
  Eigen::VectorXd found = Eigen::VectorXd::Zero(7);
  for (std::uint32_t i = 0; i < 65536; ++i) found[table.draw(i << 16 | 0x8000)] += 1.0 / 65536;
  CHECK((found - probabilities).cwiseAbs().maxCoeff() < 8.0 / 65536);
  CHECK(found[3] == 0);
}

TEST_CASE("An alias table draws the same outcomes in blocks as one by one", "[fast][scb][noise]") {
  // Tables of up to 32 places fit into registers. Numbers of outcomes are no multiples of the block
  // of 16.
  for (const Eigen::Index n : {1, 2, 20, 32, 33, 500, 65536}) {
    Eigen::VectorXd weights = Eigen::VectorXd::LinSpaced(n, 1, 3);
    if (n > 2) weights[n / 2] = 0;
    const AliasTable table(weights / weights.sum());
    for (const std::size_t number : {std::size_t{0}, std::size_t{7}, std::size_t{2035}}) {
      std::vector<std::uint32_t> words(number + 4);
      stream_words(PhiloxKey(3, Purpose::test, 0, number), 0, number / 4 + 1, words.data());
      if (number > 20) {
        words[3] = 0;
        words[20] = std::numeric_limits<std::uint32_t>::max();
      }
      std::vector<std::uint16_t> together(number), alone(number);
      for (std::size_t i = 0; i < number; ++i) alone[i] = table.draw(words[i]);
      table.draw(number, words.data(), together.data());
      INFO(n << " outcomes, " << number << " words");
      CHECK(together == alone);
    }
  }
}

}  // namespace
}  // namespace popflow::scb::test
