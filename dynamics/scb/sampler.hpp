#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "dynamics/scb/parts.hpp"
#include "dynamics/scb/problem.hpp"
#include "popflow/random.hpp"
#include "popflow/workers.hpp"

namespace popflow::scb {

/// Draws from a fixed distribution over few outcomes in constant time (Walker 1977, in the form of
/// Vose 1991): one 32-bit number picks a place and what is left of it decides between its two
/// outcomes, so that probabilities are right to n 2^-32.
class AliasTable {
 public:
  explicit AliasTable(const Eigen::Ref<const Eigen::VectorXd>& probabilities);
  [[nodiscard]] std::uint16_t draw(std::uint32_t random) const {
    const std::uint64_t scaled = std::uint64_t{random} * threshold_.size();
    const auto place = static_cast<std::size_t>(scaled >> 32);
    return static_cast<std::uint32_t>(scaled) < threshold_[place]
               ? static_cast<std::uint16_t>(place)
               : alias_[place];
  }

 private:
  std::vector<std::uint32_t> threshold_;
  std::vector<std::uint16_t> alias_;
};

/// The sampled model in full coordinates: sequences x_1..x_T, x_{T+1} i.i.d. from mu, a position
/// s ~ q_k with k = x_{T+1}, a target y ~ P[:, x_s], and the gradients of 1/2 |e_y - V X a_k|^2.
class Sampler {
 public:
  /// Throws UsageError for more tokens than 16 bits count.
  Sampler(const Problem& problem, Variant variant, Workers& workers);

  /// Adds sum_i weights[i] v_i for the samples i of `key`: to `dV` (N x N, column-major) and to
  /// `dA` (T x N, column-major, the weights' or with softmax the logits' derivative). `A` is the
  /// attention's state: deviations from 1/T, or logits. dA may be A itself.
  ///
  /// Cost: T draws and two passes over T positions a sample, three products with N x N matrices
  /// for the batch; of dA only the columns of the queries drawn are touched.
  void add(const Eigen::MatrixXd& V, const double* A, const SampleKey& key,
           std::span<const double> weights, double* dV, double* dA) const;

 private:
  struct Batch;
  void draw(const double* A, const SampleKey& key, Batch& batch) const;
  void forward(const double* A, Eigen::Index i, Batch& batch) const;
  void add_attention(std::span<const double> weights, const Batch& batch, double* dA) const;

  const Problem& problem_;
  Variant variant_;
  Workers& workers_;
  std::size_t T_ = 0;
  AliasTable tokens_;
  std::vector<AliasTable> positions_;  ///< of the slots of a query
  std::vector<AliasTable> targets_;    ///< of what follows a token
};

}  // namespace popflow::scb
