#pragma once

#include <Eigen/Core>

#include "dynamics/joma_joint/attention.hpp"
#include "dynamics/joma_joint/problem.hpp"

namespace popflow::joma_joint {

/// JoMA's theorem 1 (arXiv 2310.00535): z as a function of V, from the same start. With q_l = sum_k
/// (v_{k,l}^2 - v_{k,l}(0)^2):
///   linear   z_l^2 = z_l(0)^2 + q_l                            exact
///   exp      z_l = z_l(0) + q_l / (2 tau)                      exact
///   softmax  z_l = z_l(0) + (q_l - bbar_l sum q) / (2 tau)     bbar = sum_c p_c b_c at the start
class Theorem {
 public:
  using Matrix = Attention::Matrix;
  using Vector = Attention::Vector;

  /// `bbar` has M entries. The start must outlive the theorem.
  Theorem(AttentionKind kind, double temperature, const Start& start, Eigen::VectorXd bbar);

  /// Writes z by the theorem. For linear attention z keeps the sign of the start; NaN if the
  /// theorem has no real z.
  void predict(const Matrix& V, Eigen::Ref<Eigen::VectorXd> z) const;
  /// Writes dz/dt by the theorem, at z (which linear attention needs).
  void rate(const Matrix& V, const Matrix& dV, const Vector& z,
            Eigen::Ref<Eigen::VectorXd> dz) const;
  /// The largest change over tokens of z^2 - sum_k v_k^2 (linear), z - sum_k v_k^2/(2 tau) (exp) or
  /// z - (sum_k v_k^2 - bbar sum_k |v_k|^2)/(2 tau) (softmax).
  [[nodiscard]] double residual(const Matrix& V, const Vector& z) const;

  /// Pearson correlations over tokens; NaN where one side does not vary.
  struct Correlations {
    double prediction = 0;  ///< of z with the theorem's z
    double weights = 0;     ///< of z with sum_k v_k^2; softmax only
    double norm = 0;        ///< of z with -bbar sum_k |v_k|^2; softmax only
  };
  [[nodiscard]] Correlations correlations(const Matrix& V, const Vector& z) const;

  [[nodiscard]] const Eigen::VectorXd& mean_attention() const { return bbar_; }

 private:
  [[nodiscard]] double gain(const Matrix& V, Eigen::Index token) const;
  [[nodiscard]] Eigen::VectorXd gains(const Matrix& V) const;

  AttentionKind kind_;
  double temperature_;
  const Start& start_;
  Eigen::VectorXd bbar_;
};

}  // namespace popflow::joma_joint
