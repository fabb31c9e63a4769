#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "dynamics/topic/matrices.hpp"
#include "dynamics/topic/observables.hpp"
#include "popflow/scratch.hpp"
#include "popflow/workers.hpp"

namespace popflow::topic {

/// The population loss at any W_V and Lambda, over all sets of topics that a document can have.
///
/// A document's input has two frequencies of words, z_in and z_out. So with the unnormalised
/// weights E = exp(Lambda) a query's output is (b + (z_in - z_out) sum_t g_t)/(N_0 + (z_in - z_out)
/// sum_t s_t), t over the document's topics. g_t = sum_k E_k W_k and s_t = sum_k E_k over the words
/// of topic t are the same for all documents. The loss depends on the g_t only through their inner
/// products and their sums over topics, so a query and a set cost tau^2 operations.
class Population {
 public:
  static constexpr double most_sets = 100'000;
  /// Throws UsageError for more than most_sets sets of topics.
  Population(const Data& data, Workers& workers);
  ~Population();

  /// Loss without the l2 term.
  [[nodiscard]] double loss(const ConstMatrix& W, const ConstMatrix& logit) const;
  /// Loss, with its derivatives with respect to W_V (n x (n+1)) and Lambda.
  double gradient(const ConstMatrix& W, const ConstMatrix& logit, MatrixOut by_W,
                  MatrixOut by_logit) const;
  [[nodiscard]] RelativeAttention attention(const ConstMatrix& logit) const;

 private:
  struct Whole;  ///< scratch memory for all queries
  struct Local;  ///< scratch memory for some
  struct Derivatives {
    MatrixOut& by_W;
    MatrixOut& by_logit;
  };
  /// Computes the loss, and its derivatives if requested.
  double run(const ConstMatrix& W, const ConstMatrix& logit, Derivatives* derivatives) const;
  /// Unnormalised weights of a query.
  void weigh(const ConstMatrix& logit, Eigen::Index query, double* e) const;
  /// Treats the queries from `first` on, as many as there are lanes; `begin` is the first query of
  /// the group.
  void run_block(Eigen::Index begin, Eigen::Index first, const ConstMatrix& W,
                 const ConstMatrix& logit, Whole& whole, Local& local, MatrixOut* by_logit) const;
  /// Adds the derivatives with respect to W_V through the first `count` queries in `whole`.
  void add_by_value(Eigen::Index count, const Whole& whole, MatrixOut& by_W) const;

  Data data_;
  Sizes size_;
  Workers& workers_;
  std::size_t sets_ = 0;
  std::vector<std::int32_t> members_;  ///< tau topics for each set
  double step_;                        ///< z_in - z_out
  mutable ScratchPool<Whole> wholes_;
  mutable ScratchPool<Local> locals_;
};

}  // namespace popflow::topic
