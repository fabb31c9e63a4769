#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "dynamics/joma_joint/contexts.hpp"
#include "dynamics/joma_joint/flow.hpp"
#include "popflow/workers.hpp"

namespace popflow::joma_joint {

/// A step along the flow and a weighted sum of samples at once, for small problems, in which the
/// overhead of many short loops exceeds the arithmetic. Contexts of samples and of classes are
/// stored side by side in vectors, so that no sum over nodes or tokens runs across a vector.
///
/// For softmax attention, the identity for phi, and cross-entropy. Gives the same bits as Flow and
/// Batch, which handle all other cases.
class NoisyStep {
 public:
  NoisyStep(const ContextLaw& law, const Eigen::MatrixXd& X, const Eigen::VectorXd& p,
            double temperature, Workers& workers);

  /// Whether NoisyStep supports contexts of these sizes.
  static bool serves(Eigen::Index nodes, Eigen::Index tokens, Eigen::Index classes);
  /// Whether NoisyStep is faster: only with AVX-512, because compilers split vectors of eight for
  /// smaller registers, and compare their numbers one by one.
  static bool pays();
  [[nodiscard]] const Contexts& contexts() const { return contexts_; }

  /// x += h f(x) + sum_i weights[i] v_i for the samples i of `key`. Returns false, and does
  /// nothing, if some context contains none of the tokens that have significant attention.
  bool operator()(const Point& at, double h, const SampleKey& key, std::span<const double> weights,
                  const Velocity& x);

 private:
  /// Numbers aligned to a cache line.
  class Numbers {
   public:
    void resize(std::size_t number) { lines_.assign((number + 7) / 8, Line{}); }
    [[nodiscard]] double* data() { return lines_.empty() ? nullptr : lines_.data()->of; }

   private:
    struct alignas(64) Line {
      double of[8];
    };
    std::vector<Line> lines_;
  };

  void resize(std::size_t samples);
  void take(std::size_t samples);
  /// Computes b of all contexts and its sums; returns false if digits would be lost.
  bool attend(const Attention::Vector& z);
  /// Adds the contributions of `number` contexts from place `first` on to r, to V, and to the
  /// logits times tau.
  void add_to_nodes(const Attention::Vector& r, std::size_t first, std::size_t number, double* sum);
  void to_tokens(const Attention::Matrix& V, std::size_t first, std::size_t number,
                 Eigen::VectorXd& moved, Eigen::VectorXd& along);

  Contexts contexts_;
  const Eigen::MatrixXd& X_;
  const Eigen::VectorXd& p_;
  double temperature_;
  std::size_t K_, M_, C_, rounded_;  ///< rounded: number of nodes, rounded up to whole eights
  std::size_t samples_ = 0;
  std::size_t first_class_ = 0;  ///< place of the first class, after the samples
  std::size_t places_ = 0;
  // Contexts in their places: eights of samples, then of classes.
  Numbers shares_, b_;   ///< places x M
  Numbers sums_;         ///< places: sums of b
  Numbers scales_;       ///< places: 1 over the sums
  Numbers products_;     ///< places x K: v_k' b_c multiplied by the sum
  Numbers weights_;      ///< places
  Numbers scaled_;       ///< rounded K x places: weight g divided by the sum
  Numbers pulls_;        ///< places: sum_k weight g_k v_k' b_c divided by the sum
  Numbers work_, to_r_;  ///< for nodes
  std::vector<std::int64_t> classes_;
  Eigen::VectorXd gains_, drift_, drift_along_, moved_, along_, pulled_;
};

}  // namespace popflow::joma_joint
