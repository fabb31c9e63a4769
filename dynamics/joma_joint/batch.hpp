#pragma once

#include <memory>

#include "dynamics/joma_joint/contexts.hpp"
#include "dynamics/joma_joint/flow.hpp"

namespace popflow::joma_joint {

/// Workspace for gradients of sampled contexts, and the contexts of the last
/// batch.
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
  /// Other contexts are in use from now on.
  virtual void take(const Contexts& contexts, std::size_t number) = 0;
  virtual void add(const Point& at, std::span<const double> weights, const Velocity& into) = 0;

  Contexts contexts_;
};

/// The sampled model's sizes, and what lies above its contexts.
struct BatchModel {
  const ContextLaw& law;
  AttentionKind kind;
  double temperature;
  const Outputs& outputs;
  Eigen::Index nodes;
  Workers& workers;
};

/// A sample costs K numbers a token, twice, in matrix products: for contexts that most tokens are
/// in.
std::unique_ptr<Batch> make_dense_batch(const BatchModel& model);
/// A sample costs K numbers a distinct token, three times.
std::unique_ptr<Batch> make_sparse_batch(const BatchModel& model);

}  // namespace popflow::joma_joint
