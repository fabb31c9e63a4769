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

/// Counts of the four transitions in a chain.
struct TransitionNumbers {
  std::int64_t from0 = 0, from1 = 0;  ///< transitions that leave a 0, a 1
  std::int64_t up = 0, down = 0;      ///< 0 -> 1, 1 -> 0
};

/// Weighted sums over chains, with each chain's counts divided by its number of transitions: all
/// data that a gradient needs from a batch. The excesses are the deviations of counts from their
/// conditional means.
struct TransitionSums {
  double visits0 = 0, visits1 = 0;  ///< sum of w from_x
  double excess0 = 0, excess1 = 0;  ///< sums of w (up - p from0) and of w (q from1 - down)
};

/// Draws stationary chains with a given number of symbols, reduced to the counts of their
/// transitions. The counts are drawn for 64 transitions at a time, from a distribution that is
/// computed once for each initial symbol.
///
/// A chain's stream: one number for its first symbol, then one word for every 64 transitions and
/// one for the remaining transitions.
class TransitionSampler {
 public:
  TransitionSampler(const Chain& chain, std::int64_t symbols, Workers& workers);

  [[nodiscard]] TransitionNumbers draw(RandomStream random) const;
  /// Sum over samples i of `key` with weights[i]; bit-for-bit identical for any number of threads.
  [[nodiscard]] TransitionSums sum(const SampleKey& key, std::span<const double> weights) const;
  [[nodiscard]] std::int64_t transitions() const { return transitions_; }

 private:
  /// Distribution of a number of successive transitions from a given symbol.
  struct Block {
    struct Numbers {
      std::uint8_t changes, ones;  ///< ones: transitions that leave a 1
    };
    std::vector<Numbers> numbers;
    DiscreteDistribution distribution;
  };
  /// Distributions of a chain's full blocks, and of the remaining transitions.
  struct Blocks {
    Blocks(const Chain& chain, std::int64_t transitions);
    std::vector<Block> whole, rest;  ///< from a 0, from a 1
    /// Distributions of a chain with a single block.
    [[nodiscard]] const std::vector<Block>& only() const { return rest.empty() ? whole : rest; }
    /// Contribution of a single-block chain to a sum, by its first symbol and the index among the
    /// block's counts; empty for longer chains.
    std::vector<TransitionSums> alone[2];
  };
  static Block make_block(const Chain& chain, int first, int transitions);
  /// Adds the counts of a block that begins with `symbol`.
  static void add(TransitionNumbers& all, std::size_t symbol, Block::Numbers drawn);
  /// Created on first use, because a flow needs none; samplers of the same chain share them.
  [[nodiscard]] const Blocks& blocks() const;
  template <class Words>
  TransitionNumbers draw(const Blocks& blocks, Words& words) const;
  /// Contribution of one chain, before multiplication by its weight over the number of transitions.
  static TransitionSums sums_of_chain(const Chain& chain, const TransitionNumbers& drawn);
  [[nodiscard]] TransitionSums sum_of(const SampleKey& key, std::span<const double> weights,
                                      std::size_t begin, std::size_t end) const;

  Chain chain_;
  std::int64_t transitions_;
  Workers& workers_;
  mutable std::once_flag made_;
  mutable std::shared_ptr<const Blocks> blocks_;
};

}  // namespace popflow::markov
