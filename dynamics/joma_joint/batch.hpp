#pragma once

#include <memory>

#include "dynamics/joma_joint/contexts.hpp"
#include "dynamics/joma_joint/flow.hpp"

namespace popflow::joma_joint {

/// Computes gradients of sampled contexts; holds scratch memory and the contexts of the last batch.
class Batch {
 public:
  Batch(const ContextLaw& law, Workers& workers) : contexts_(law, workers) {}
  virtual ~Batch() = default;
  [[nodiscard]] const Contexts& contexts() const { return contexts_; }

  /// Adds sum_i weights[i] v_i for the samples i of `key`. `into` may be the point itself.
  void add(const Point& at, const SampleKey& key, std::span<const double> weights,
           const Velocity& into) {
    if (contexts_.move_to(key, weights.size())) take(contexts_, weights.size());
    add(at, weights, into);
  }

 private:
  /// Uses these contexts from now on.
  virtual void take(const Contexts& contexts, std::size_t number) = 0;
  virtual void add(const Point& at, std::span<const double> weights, const Velocity& into) = 0;

  Contexts contexts_;
};

/// Sizes of the sampled model, and the outputs above its contexts.
struct BatchModel {
  const ContextLaw& law;
  AttentionKind kind;
  double temperature;
  const Outputs& outputs;
  Eigen::Index nodes;
  Workers& workers;
};

/// Batch whose samples cost 2 K numbers per token in matrix products: for contexts that contain
/// most tokens.
std::unique_ptr<Batch> make_dense_batch(const BatchModel& model);
/// Batch whose samples cost 3 K numbers per distinct token.
std::unique_ptr<Batch> make_sparse_batch(const BatchModel& model);

}  // namespace popflow::joma_joint
