#pragma once

#include <Eigen/Core>
#include <optional>

#include "dynamics/joma_joint/attention.hpp"
#include "popflow/scratch.hpp"
#include "popflow/workers.hpp"

namespace popflow::joma_joint {

/// Entropy of the attention (entropy.hpp) from the logits alone, with an error bound.
///
/// The attention on contexts is b_{c,l} = x_{c,l} e_l / S_c with the gains e_l and their weighted
/// sum S_c. Therefore -sum_l b log b = log S_c - sum_l e_l (x log x + x log e_l)_{c,l} / S_c. This
/// takes three products of a constant matrix and a vector, and no logarithm per entry.
///
/// Without this class 1000 steps of SGD with 2000 tokens and 100 classes take 8% more time, and
/// 1500 steps of the SDE with 200 tokens and classes take 3% more.
class QuickEntropy {
 public:
  /// X (M x C) must outlive the object.
  QuickEntropy(const Eigen::MatrixXd& X, const Eigen::VectorXd& p, AttentionKind kind,
               double temperature, Workers& workers);

  struct Value {
    double entropy;
    double error;  ///< bound on the error
  };
  /// Returns nothing if sums of gains have lost significant terms.
  [[nodiscard]] std::optional<Value> operator()(const Attention::Vector& z) const;

 private:
  /// Scratch memory.
  struct Sums {
    Eigen::VectorXd gains;      ///< M: e, relative to the largest
    Eigen::VectorXd log_terms;  ///< M: e log e
    Eigen::MatrixXd of_class;   ///< C x 3: the products
  };
  void set_gains(const Attention::Vector& z, Sums& sums) const;

  const Eigen::MatrixXd& X_;
  Eigen::MatrixXd X_log_X_;
  Eigen::VectorXd p_;
  AttentionKind kind_;
  double temperature_;
  Workers& workers_;
  mutable ScratchPool<Sums> sums_;
};

}  // namespace popflow::joma_joint
