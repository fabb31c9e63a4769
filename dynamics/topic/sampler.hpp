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

/// Sampled model: documents of finite length, and the gradients of each document's own loss. This
/// loss is the squared error averaged over its selected positions, with its own softmax over all
/// positions. A document without selected positions has loss 0, as with the masked mean of training
/// programs.
class Sampler {
 public:
  Sampler(const Data& data, std::int64_t length, Workers& workers);
  ~Sampler();

  /// Adds sum_i weights[i] (minus the gradient of document i of `key`): with respect to W_V to
  /// `by_W` (n x (n+1)) and with respect to Lambda to `by_logit`. The l2 term is not included. If
  /// by_logit is null, the attention is uniform and `logit` is ignored; if by_W is null, W_V is not
  /// trained.
  ///
  /// Equal words share a weight, so that K symbols shown, Q of them at selected positions, cost 6 n
  /// K Q operations besides the drawing.
  ///
  /// Reads only the columns of `logit` for symbols at selected positions, and only after passing
  /// these symbols to `asking`.
  using Asking = std::function<void(std::span<const std::int32_t> symbols)>;
  void add(const ConstMatrix& W, const ConstMatrix* logit, const SampleKey& key,
           std::span<const double> weights, MatrixOut* by_W, MatrixOut* by_logit,
           const Asking& asking = {}) const;

  [[nodiscard]] const DocumentGenerator& generator() const { return generator_; }

 private:
  struct Document;  ///< symbols of a document, and its gradients
  struct Scratch;   ///< scratch memory for one document
  struct Batch;
  void draw(const SampleKey& key, std::uint64_t number, bool attends, Document& document,
            Scratch& scratch) const;
  void attend(const ConstMatrix* logit, Document& document, Scratch& scratch) const;
  void differentiate(const ConstMatrix& W, const ConstMatrix* logit, Document& document,
                     Scratch& scratch) const;
  /// Adds the gradients' columns for one symbol.
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
