#pragma once

#include <Eigen/Core>
#include <functional>
#include <vector>

#include "popflow/scratch.hpp"
#include "popflow/workers.hpp"

namespace popflow::joma_joint {

enum class AttentionKind { softmax, exponential, linear };

inline std::size_t to_size(Eigen::Index n) { return static_cast<std::size_t>(n); }

/// Number of blocks of tokens whose products with V are summed separately, each into its own K x C
/// matrix.
Eigen::Index blocks_of_tokens(Eigen::Index tokens);

/// Number of multiplications that one task of a product takes.
inline constexpr Eigen::Index kMultiplicationsOfTask = Eigen::Index{1} << 18;

/// Sums of exponentials below this value have lost all significant terms: all tokens of the context
/// lie far below the largest of all tokens.
inline constexpr double kSmallestSum = 1e-200;

/// The attention and the linear layer above it. Forward: from V and z to the attended contexts b_c
/// and to v_k' b_c. Backward: from the weights of the nodes' gradients to the velocities of V, r
/// and z. Two matrix products of size K x C x M in total, divided into tasks whose bounds depend
/// only on the sizes. Contexts are those of the classes, or of a batch of samples.
///
/// Matrices have tokens last: V is K x M, so that a token's weights are contiguous.
class Attention {
 public:
  using Matrix = Eigen::Map<const Eigen::MatrixXd>;
  using Vector = Eigen::Map<const Eigen::VectorXd>;

  /// Each row of `contexts` (C x M) holds a context's frequencies of the tokens; `temperature` is
  /// tau.
  Attention(Eigen::MatrixXd contexts, AttentionKind kind, double temperature, Eigen::Index nodes,
            Workers& workers);

  /// The contexts, which may be replaced before the next attend() or forward().
  [[nodiscard]] Eigen::MatrixXd& contexts() { return X_; }

  /// Callback for the products of contexts `first` on, called by the thread that has computed them.
  using Finished = std::function<void(Eigen::Index first, Eigen::Index count)>;
  /// Computes b_c from z.
  void attend(const Vector& z);
  /// Computes the products with V. Calls attend() first, unless `attended`.
  void forward(const Matrix& V, const Vector& z, const Finished& finished = {},
               bool attended = false);

  // ---- Results of the last attend() or forward():

  /// b_c for all contexts, C x M, each multiplied by its sum(). Computed on first use: the products
  /// compute the entries where they need them, which saves memory traffic.
  [[nodiscard]] const Eigen::MatrixXd& unscaled() const;
  /// Factors for the rows of unscaled(): 1 except for softmax.
  [[nodiscard]] const Eigen::VectorXd& scales() const { return scales_; }
  /// b_c for all contexts, C x M.
  [[nodiscard]] Eigen::MatrixXd attended() const { return scales_.asDiagonal() * unscaled(); }
  /// v_k' b_c, K x C, from the last forward().
  [[nodiscard]] const Eigen::MatrixXd& products() const { return products_; }

  /// Takes the weights w(k,c) = p_c g_{k,c} phi'(h_{k,c}) of some contexts, whose products are
  /// known. To be called before backward(), on any thread.
  void weigh(const Eigen::MatrixXd& w, Eigen::Index first, Eigen::Index contexts);
  /// After all weights were taken, computes
  ///   dV/dt = sum_c w b_c',  dr/dt = sum_c w,  dz/dt = sum_c (db_c/dz)' sum_k w v_k
  /// at the V and z of the last forward(). `dz` may be null if not needed.
  void backward(const Matrix& V, const Eigen::MatrixXd& w, double* dV, double* dr, double* dz);
  /// Does the work of backward(), but adds to the outputs, which may be V, r and z themselves.
  void add_backward(const Matrix& V, const Eigen::MatrixXd& w, double* dV, double* dr, double* dz);

  /// (db_c/dz)' v_k: the derivative of h_{k,c} with respect to each z_l.
  void slope_by_logits(const Matrix& V, Eigen::Index node, Eigen::Index context,
                       Eigen::Ref<Eigen::VectorXd> slope) const;

  [[nodiscard]] AttentionKind kind() const { return kind_; }
  [[nodiscard]] double temperature() const { return temperature_; }

 private:
  struct Tiles;
  /// Scratch memory for some tokens.
  struct Task {
    Eigen::VectorXd attended;  ///< contexts x tokens, of B
    Eigen::MatrixXd moved;     ///< K x tokens
    Eigen::VectorXd along, pulled;
  };
  [[nodiscard]] Tiles tiles() const;
  void set_gains(const Vector& z);
  /// Computes B of some contexts in a block of tokens, all with their own gains; in the scratch
  /// memory, or in B_ if B_ holds all of B.
  const double* attend_block(Eigen::Index block, Eigen::Index first, Eigen::Index contexts,
                             Task& task);
  /// Whether one task computes all of B, which is then kept.
  [[nodiscard]] bool is_one_task() const;
  void keep_one();
  void sum_block(Eigen::Index block, Eigen::Index first, Eigen::Index contexts, const double* b);
  /// Writes B of all contexts for some tokens.
  void write_tokens(Eigen::Index first, Eigen::Index tokens, double* b) const;
  void set_scales(Eigen::Index first, Eigen::Index contexts, const Vector& z);
  void attend_alone(Eigen::Index context, const Vector& z);
  void multiply_block(const Matrix& V, Eigen::Index block, Eigen::Index first,
                      Eigen::Index contexts, const double* b);
  void sum_products(const Matrix& V, Eigen::Index first, Eigen::Index contexts);
  template <bool add>
  void to_velocities(const Matrix& V, const Eigen::MatrixXd& w, double* dV, double* dr, double* dz);
  template <bool add>
  void to_tokens(const Matrix& V, Eigen::Index first, Eigen::Index count, double* dV, double* dz);

  AttentionKind kind_;
  double temperature_;
  Workers& workers_;
  Eigen::Index K_, block_, group_;  ///< nodes; tokens of a block, contexts of a task
  Eigen::MatrixXd X_;               ///< C x M
  Eigen::MatrixXd products_;        ///< K x C
  Eigen::VectorXd gains_;           ///< M: z, or e^{z/tau} (softmax: relative to the largest)
  Eigen::VectorXd scales_;          ///< C: 1, or 1 over the sum of a row of B
  Eigen::MatrixXd partial_;         ///< K x C blocks: products of a block of tokens, times the sums
  Eigen::MatrixXd sums_;            ///< C x blocks: sums of rows of B
  /// B's row of each context that has its own gains: M numbers, or empty.
  std::vector<Eigen::VectorXd> alone_;
  Eigen::MatrixXd weights_;      ///< K x C: weights of backward(), divided by the sums of B
  Eigen::VectorXd pulls_;        ///< C: sum_k w_kc v_k' b_c, divided by the sum
  mutable Eigen::MatrixXd B_;    ///< C x M: X times the gains of the tokens
  mutable bool formed_ = false;  ///< whether B_ belongs to the last gains
  ScratchPool<Task> tasks_;
};

}  // namespace popflow::joma_joint
