#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "dynamics/common/discrete.hpp"
#include "dynamics/markov/chain.hpp"
#include "popflow/random.hpp"
#include "popflow/workers.hpp"

namespace popflow::markov {

/// How often each of the four transitions occurs in a chain.
struct TransitionNumbers {
  std::int64_t from0 = 0, from1 = 0;  ///< transitions that leave a 0, a 1
  std::int64_t up = 0, down = 0;      ///< 0 -> 1, 1 -> 0
};

/// A weighted sum over chains, each chain's numbers divided by its transitions. All that a gradient
/// needs of a batch.
struct Surprises {
  double visits0 = 0, visits1 = 0;  ///< sum of w from_x
  double excess0 = 0, excess1 = 0;  ///< sum of w (up - p from0), of w (q from1 - down)
};

/// Draws stationary chains of a given number of symbols, of which only the numbers of transitions
/// are seen. 64 transitions at a time: their numbers have a distribution that is computed once,
/// for either symbol that they begin with.
///
/// A chain's stream: one number for its first symbol, then one word for every 64 transitions and
/// one for the rest.
class TransitionSampler {
 public:
  TransitionSampler(const Chain& chain, std::int64_t symbols, Workers& workers);

  [[nodiscard]] TransitionNumbers draw(RandomStream random) const;
  /// Over samples i of `key` with weights[i]; bit-for-bit identical on any number of threads.
  [[nodiscard]] Surprises sum(const SampleKey& key, std::span<const double> weights) const;
  [[nodiscard]] std::int64_t transitions() const { return transitions_; }

 private:
  /// Some transitions in a row from a given symbol, by their distribution.
  struct Block {
    struct Numbers {
      std::uint8_t changes, ones;  ///< ones: transitions that leave a 1
    };
    std::vector<Numbers> numbers;
    DiscreteDistribution distribution;
  };
  /// The distributions of a chain's blocks; of as many transitions as are left, too.
  struct Blocks {
    Blocks(const Chain& chain, std::int64_t transitions);
    std::vector<Block> whole, rest;  ///< from a 0, from a 1
    /// Blocks of a chain that has a single block.
    [[nodiscard]] const std::vector<Block>& only() const { return rest.empty() ? whole : rest; }
    /// Contribution of a single-block chain to a sum, by its first symbol and its place among the
    /// block's numbers; empty for longer chains.
    std::vector<Surprises> alone[2];
  };
  static Block make_block(const Chain& chain, int first, int transitions);
  /// Adds a block that begins with `symbol`.
  static void add(TransitionNumbers& all, std::size_t symbol, Block::Numbers drawn);
  /// Made when they are needed first, since a flow never does; samplers of the same chains share
  /// them.
  [[nodiscard]] const Blocks& blocks() const;
  template <class Words>
  TransitionNumbers draw(const Blocks& blocks, Words& words) const;
  /// Surprises of one chain, without the factor weight over transitions.
  static Surprises surprises(const Chain& chain, const TransitionNumbers& drawn);
  [[nodiscard]] Surprises sum_of(const SampleKey& key, std::span<const double> weights,
                                 std::size_t begin, std::size_t end) const;

  Chain chain_;
  std::int64_t transitions_;
  Workers& workers_;
  mutable std::once_flag made_;
  mutable std::shared_ptr<const Blocks> blocks_;
};

}  // namespace popflow::markov
