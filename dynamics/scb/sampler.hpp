#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "dynamics/scb/alias_table.hpp"
#include "dynamics/scb/parts.hpp"
#include "dynamics/scb/problem.hpp"
#include "popflow/random.hpp"
#include "popflow/scratch.hpp"
#include "popflow/workers.hpp"

namespace popflow::scb {

/// Sampled model in full coordinates: sequences x_1..x_T, x_{T+1} i.i.d. from mu, a position s ~
/// q_k with k = x_{T+1}, a target y ~ P[:, x_s], and the gradients of 1/2 |e_y - V X a_k|^2.
///
/// Sample i uses the 32-bit words of key.stream(i): word 0 draws the query k, word 1 the slot of s,
/// word 2 the target y, and word 4 + t the token x_t. (Word 3 is not used.)
class Sampler {
 public:
  /// Throws UsageError if the tokens cannot be numbered with 16 bits.
  Sampler(const Problem& problem, Variant variant, Workers& workers);
  ~Sampler();

  /// Adds sum_i weights[i] v_i for the samples i of `key`: to `dV` (N x N, column-major) and to
  /// `dA` (T x N, column-major; derivative of the weights or, with softmax, of the logits). `A` is
  /// the attention's state: deviations from 1/T, or logits. dA may be A itself. Thread-safe.
  ///
  /// Cost: T words drawn and two passes over T positions per sample, and three products with N x N
  /// matrices per batch. Only the columns of dA for the drawn queries change. Memory: two bytes for
  /// each token of the batch, kept for the next batch.
  void add(const Eigen::MatrixXd& V, const double* A, const SampleKey& key,
           std::span<const double> weights, double* dV, double* dA) const;

 private:
  struct Batch;
  void draw_queries(const SampleKey& key, Batch& batch) const;
  void find_softmax(const double* A, Batch& batch) const;
  /// Draws sample i's tokens and target, and sums its attended tokens.
  void draw(const double* A, const SampleKey& key, std::size_t i, Batch& batch) const;
  void multiply(const Eigen::MatrixXd& V, std::span<const double> weights, double* dV,
                Batch& batch) const;
  /// Computes each token's contribution to its position's derivative, for every sample.
  void find_gains(std::span<const double> weights, Batch& batch) const;
  void add_attention(const Batch& batch, double* dA) const;

  const Problem& problem_;
  Variant variant_;
  Workers& workers_;
  std::size_t T_ = 0;
  AliasTable tokens_;
  std::vector<AliasTable> positions_;  ///< slots of each query
  std::vector<AliasTable> targets_;    ///< successors of each token
  mutable ScratchPool<Batch> batches_;
};

}  // namespace popflow::scb
