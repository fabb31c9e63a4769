#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "dynamics/common/discrete.hpp"
#include "dynamics/common/scratch.hpp"
#include "dynamics/joma_joint/flow.hpp"
#include "dynamics/joma_joint/problem.hpp"
#include "popflow/random.hpp"
#include "popflow/workers.hpp"

namespace popflow::joma_joint {

/// The sampled model: a class c ~ p, a context of tokens i.i.d. from x_c, and minus the gradient of
/// the loss of that class at the context's shares of the tokens.
///
/// Contexts are sparse here: a sample costs K numbers a distinct token, three times. A sample's
/// stream: one word for its class; then one word a token, or, where a context is much longer than
/// there are tokens, a binomial variate a token.
class Sampler {
 public:
  Sampler(const Problem& problem, AttentionKind kind, double temperature, Outputs outputs,
          std::int64_t context_length, Workers& workers);
  ~Sampler();

  /// Adds sum_i weights[i] v_i for the samples i of `key`. `into` may be the point itself. A sharp
  /// relu has phi'(0) = 0; sides are ignored. Bit-for-bit identical on any number of threads.
  void add(const Point& at, const SampleKey& key, std::span<const double> weights,
           const Velocity& into) const;

 private:
  struct Batch;
  struct Task;
  void draw(const SampleKey& key, std::size_t i, Task& task) const;
  void draw_tokens(const SampleKey& key, std::size_t i, Task& task) const;
  void forward(const Point& at, double weight, std::size_t i, Task& task, Batch& batch) const;
  static void sort_by_token(Batch& batch);
  void backward(const Point& at, const Batch& batch, Eigen::Index first, const Velocity& into,
                Task& task) const;

  AttentionKind kind_;
  double temperature_;
  Outputs outputs_;
  std::int64_t length_;
  Workers& workers_;
  Eigen::Index M_, K_;
  DiscreteDistribution classes_;
  std::vector<DiscreteDistribution> tokens_;  ///< of each class; none where contexts are long
  Eigen::MatrixXd conditional_;  ///< of x_c: a token's part of what it and those after it have
  mutable ScratchPool<Batch> batches_;
  mutable ScratchPool<Task> tasks_;
};

}  // namespace popflow::joma_joint
