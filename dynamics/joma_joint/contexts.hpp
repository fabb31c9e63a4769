#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "dynamics/common/discrete.hpp"
#include "dynamics/joma_joint/attention.hpp"
#include "dynamics/joma_joint/problem.hpp"
#include "popflow/random.hpp"
#include "popflow/scratch.hpp"
#include "popflow/workers.hpp"

namespace popflow::joma_joint {

/// Distribution of contexts: a class c ~ p, and tokens i.i.d. from x_c.
///
/// A sample's stream: one word for its class; then one word per token or, if a context is much
/// longer than the number of tokens, a binomial variate per token.
class ContextLaw {
 public:
  ContextLaw(const Problem& problem, std::int64_t length);

  [[nodiscard]] std::int64_t length() const { return length_; }
  [[nodiscard]] Eigen::Index tokens() const { return M_; }
  /// Whether a context contains most of the tokens.
  [[nodiscard]] bool dense() const { return dense(M_, length_); }
  static bool dense(Eigen::Index tokens, std::int64_t length);
  /// Largest number of distinct tokens in a context.
  [[nodiscard]] std::size_t most_distinct() const;
  /// Number of random words per context.
  [[nodiscard]] std::size_t draws() const;

  /// Scratch memory for one context.
  struct Draft {
    std::uint32_t of_class = 0;
    std::vector<std::int64_t> times;  ///< count of each token; zero between contexts
    /// Distinct tokens; in drawing order unless contexts are dense.
    std::vector<std::uint32_t> present;
    std::vector<std::uint32_t> words;   ///< random bits
    std::vector<std::uint32_t> drawn;   ///< tokens in the order in which they are drawn
    std::vector<std::uint32_t> counts;  ///< for dense contexts; zero between them
  };
  /// Draws sample i of the key: its class, its tokens and their counts, which the caller must reset
  /// to zero.
  void draw(const SampleKey& key, std::size_t i, Draft& draft) const;

 private:
  void draw_tokens(const SampleKey& key, std::size_t i, Draft& draft) const;
  /// Whether there are so few tokens that each is counted in several places, which are then summed.
  [[nodiscard]] bool counted() const;
  void count(std::size_t number, Draft& draft) const;
  void sum_counts(Draft& draft) const;

  std::int64_t length_;
  Eigen::Index M_;
  DiscreteDistribution classes_;
  std::vector<DiscreteDistribution> tokens_;  ///< per class; empty if contexts are long
  /// For each token and class: the token's share of the probability, under x_c, of this and all
  /// later tokens.
  Eigen::MatrixXd conditional_;
};

/// Contexts of a batch, kept while the same batch is requested (for example by noise along one
/// stretch of a path). For successive batches, some are drawn ahead, by all threads at once.
class Contexts {
 public:
  Contexts(const ContextLaw& law, Workers& workers) : law_(law), workers_(workers) {}

  /// Whether samples 0, ..., number - 1 of the key are available.
  [[nodiscard]] bool hold(const SampleKey& key, std::size_t number) const;
  /// Whether the samples of `key` follow those requested last.
  [[nodiscard]] bool precede(const SampleKey& key) const;
  /// Moves to the batch of the key, whose sample 0 sample(0) then returns. Returns false if this
  /// batch was the current one already.
  bool move_to(const SampleKey& key, std::size_t number);

  struct Sample {
    std::uint32_t of_class;
    std::span<const std::uint32_t> tokens;
    std::span<const double> shares;
  };
  [[nodiscard]] Sample sample(std::size_t i) const;

 private:
  void draw(const SampleKey& key, std::size_t number);

  const ContextLaw& law_;
  Workers& workers_;
  SampleKey key_;           ///< key of the first available sample
  std::size_t drawn_ = 0;   ///< number of available samples
  std::size_t begin_ = 0;   ///< index of the first sample of the batch
  std::size_t number_ = 0;  ///< number of samples of the batch
  // For each sample i, stored from place i * most_distinct() on.
  std::vector<std::uint32_t> classes_;
  std::vector<std::size_t> distinct_;
  std::vector<std::uint32_t> tokens_;
  std::vector<double> shares_;
  ScratchPool<ContextLaw::Draft> drafts_;
};

}  // namespace popflow::joma_joint
