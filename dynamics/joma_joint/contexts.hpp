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

/// Distribution of the contexts: a class c ~ p, and tokens i.i.d. from x_c.
///
/// A sample's stream: one word for its class; then one word a token, or, where a context is much
/// longer than there are tokens, a binomial variate a token.
class ContextLaw {
 public:
  ContextLaw(const Problem& problem, std::int64_t length);

  [[nodiscard]] std::int64_t length() const { return length_; }
  [[nodiscard]] Eigen::Index tokens() const { return M_; }
  /// Do contexts have most of the tokens that there are?
  [[nodiscard]] bool dense() const { return dense(M_, length_); }
  static bool dense(Eigen::Index tokens, std::int64_t length);
  /// The most tokens that a context can have.
  [[nodiscard]] std::size_t most_distinct() const;
  /// Random words that a context takes.
  [[nodiscard]] std::size_t draws() const;

  /// Working space for one context.
  struct Draft {
    std::uint32_t of_class = 0;
    std::vector<std::int64_t> times;     ///< of each token; zero between contexts
    std::vector<std::uint32_t> present;  ///< its tokens, each once; where contexts are not dense
                                         ///< as they are drawn
    std::vector<std::uint32_t> words;    ///< random bits
    std::vector<std::uint32_t> drawn;    ///< tokens in the order in which they are drawn
    std::vector<std::uint32_t> counts;   ///< of dense contexts; zero between them
  };
  /// Draws sample i of the key: its class, its tokens and how often each is there, which the caller
  /// sets back to zero.
  void draw(const SampleKey& key, std::size_t i, Draft& draft) const;

 private:
  void draw_tokens(const SampleKey& key, std::size_t i, Draft& draft) const;
  /// Are there so few tokens that all are counted, each in several places, and then summed?
  [[nodiscard]] bool counted() const;
  void count(std::size_t number, Draft& draft) const;
  void sum_counts(Draft& draft) const;

  std::int64_t length_;
  Eigen::Index M_;
  DiscreteDistribution classes_;
  std::vector<DiscreteDistribution> tokens_;  ///< of each class; none where contexts are long
  Eigen::MatrixXd conditional_;  ///< of x_c: a token's part of what it and those after it have
};

/// The contexts of a batch, kept while the same batch is asked for: noise along one stretch of a
/// path, say. Where one batch follows another, some are drawn ahead, by all threads at once.
class Contexts {
 public:
  Contexts(const ContextLaw& law, Workers& workers) : law_(law), workers_(workers) {}

  /// Are samples 0, ..., number - 1 of the key here?
  [[nodiscard]] bool hold(const SampleKey& key, std::size_t number) const;
  /// Do these samples follow those asked for last?
  [[nodiscard]] bool precede(const SampleKey& key) const;
  /// From now on sample(0) is sample 0 of the key. False if so it was.
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
  SampleKey key_;           ///< of the first that is here
  std::size_t drawn_ = 0;   ///< number of those here
  std::size_t begin_ = 0;   ///< the first of the batch, among them
  std::size_t number_ = 0;  ///< samples of the batch
  // Sample by sample, in places i * most_distinct() on.
  std::vector<std::uint32_t> classes_;
  std::vector<std::size_t> distinct_;
  std::vector<std::uint32_t> tokens_;
  std::vector<double> shares_;
  ScratchPool<ContextLaw::Draft> drafts_;
};

}  // namespace popflow::joma_joint
