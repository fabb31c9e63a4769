#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "dynamics/topic/document.hpp"
#include "dynamics/topic/matrices.hpp"
#include "popflow/random.hpp"
#include "popflow/scratch.hpp"
#include "popflow/workers.hpp"

namespace popflow::topic {

/// The sampled model: documents of finite length, and the gradients of each one's own loss, the
/// squared error averaged over its selected positions with its own softmax over all positions. A
/// document in which none is selected has loss 0, as a training program's masked mean gives.
class Sampler {
 public:
  Sampler(const Data& data, std::int64_t length, Workers& workers);
  ~Sampler();

  /// Adds sum_i weights[i] (minus the gradient of document i of `key`): by W_V to `by_W`
  /// (n x (n+1)) and by Lambda to `by_logit`. The l2 term is not in it. Where by_logit is null the
  /// attention is uniform and `logit` is ignored; where by_W is null W_V is not trained.
  ///
  /// Equal words share a weight, so that K symbols shown, Q of them at selected positions, cost
  /// 6 n K Q operations besides the drawing.
  ///
  /// Reads only the columns of `logit` for symbols at selected positions, few of many, and not
  /// before `asking` was told of them.
  using Asking = std::function<void(std::span<const std::int32_t> symbols)>;
  void add(const ConstMatrix& W, const ConstMatrix* logit, const SampleKey& key,
           std::span<const double> weights, MatrixOut* by_W, MatrixOut* by_logit,
           const Asking& asking = {}) const;

  [[nodiscard]] const DocumentGenerator& generator() const { return generator_; }

 private:
  struct Document;  ///< what one shows, and its gradients
  struct Scratch;   ///< working space for one
  struct Batch;
  void draw(const SampleKey& key, std::uint64_t number, bool attends, Document& document,
            Scratch& scratch) const;
  void attend(const ConstMatrix* logit, Document& document, Scratch& scratch) const;
  void differentiate(const ConstMatrix& W, const ConstMatrix* logit, Document& document,
                     Scratch& scratch) const;
  /// Adds the gradients' columns of one symbol.
  void add_up(const Batch& batch, Eigen::Index symbol, MatrixOut* by_W, MatrixOut* by_logit,
              Scratch& scratch) const;

  Sizes size_;
  DocumentGenerator generator_;
  double length_;
  Workers& workers_;
  mutable ScratchPool<Batch> batches_;
  mutable ScratchPool<Scratch> scratches_;
};

}  // namespace popflow::topic
