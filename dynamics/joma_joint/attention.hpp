#pragma once

#include <Eigen/Core>
#include <vector>

#include "popflow/workers.hpp"

namespace popflow::joma_joint {

enum class AttentionKind { softmax, exponential, linear };

/// Tokens whose products with V are summed by one task, in a K x C matrix of their own.
inline constexpr Eigen::Index kStretch = 4096;

/// The attention and the linear layer on it: from V, z to the attended contexts b_c and to
/// v_k' b_c, and back from the weights of the nodes' gradients to the velocities of V, r and z.
/// Two matrix products of size K x C x M together, cut into tasks whose bounds depend on the sizes
/// alone.
///
/// Matrices have tokens last: V is K x M, so that a token's weights lie together.
class Attention {
 public:
  using Matrix = Eigen::Map<const Eigen::MatrixXd>;
  using Vector = Eigen::Map<const Eigen::VectorXd>;

  /// X (M x C) holds the context distributions, `temperature` is tau.
  Attention(const Eigen::MatrixXd& X, AttentionKind kind, double temperature, Eigen::Index nodes,
            Workers& workers);

  /// Attends: b_c from z, and the products with V.
  void forward(const Matrix& V, const Vector& z);
  /// b_c for all classes, C x M, of the last forward().
  [[nodiscard]] const Eigen::MatrixXd& attended() const { return B_; }
  /// v_k' b_c, K x C, of the last forward().
  [[nodiscard]] const Eigen::MatrixXd& products() const { return products_; }

  /// With w(k,c) = p_c g_{k,c} phi'(h_{k,c}):
  ///   dV/dt = sum_c w b_c',  dr/dt = sum_c w,  dz/dt = sum_c (db_c/dz)' sum_k w v_k
  /// at the V and z of the last forward(). `dz` may be null: then it is not computed.
  void backward(const Matrix& V, const Vector& z, const Eigen::MatrixXd& w, double* dV, double* dr,
                double* dz);

  /// (db_c/dz)' v_k, which is what h_{k,c} gains by a unit of each z_l.
  void slope_by_logits(const Matrix& V, Eigen::Index node, Eigen::Index context,
                       Eigen::Ref<Eigen::VectorXd> slope) const;

  [[nodiscard]] AttentionKind kind() const { return kind_; }
  [[nodiscard]] double temperature() const { return temperature_; }

 private:
  void attend(const Vector& z);
  void attend_alone(Eigen::Index context, const Vector& z);
  void multiply(const Matrix& V);

  AttentionKind kind_;
  double temperature_;
  Workers& workers_;
  Eigen::MatrixXd X_;                     ///< C x M
  Eigen::MatrixXd B_;                     ///< C x M
  Eigen::MatrixXd products_;              ///< K x C
  Eigen::VectorXd gain_;                  ///< M: z, or e^{z/tau} (softmax: over its largest)
  Eigen::VectorXd sums_;                  ///< C: x_c' gain; in backward() sum_k w_kc v_k' b_c
  std::vector<Eigen::MatrixXd> partial_;  ///< one per block of tokens: K x C products
  Eigen::MatrixXd partial_sums_;          ///< C x blocks
};

}  // namespace popflow::joma_joint
