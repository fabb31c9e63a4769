#pragma once

#include "dynamics/topic/matrices.hpp"

namespace popflow::topic {

/// Moments of the documents for uniform attention: E[z z'] and E[x z'], where z holds the
/// frequencies of the symbols that a document shows and x is the true word of a selected position.
/// Documents differ only in contrasts between topics. So with P the projection on vectors that are
/// constant within topics and sum to 0,
///   E[z z'] = m m' + between P,   E[x z'] = (1/n) 1 m' + cross P,   m = E z.
class Moments {
 public:
  explicit Moments(const Data& data);

  /// E|W z - x|^2 for W of n x (n+1).
  [[nodiscard]] double loss(const ConstMatrix& W) const;
  /// out = d/dW of loss().
  void gradient(const ConstMatrix& W, MatrixOut out) const;
  /// E|D z|^2: excess loss of W_V if it differs by D from the optimum (l2 = 0).
  [[nodiscard]] double excess(const ConstMatrix& D) const;
  /// Solution at time t, which may be infinite, of the flow dD/dt = -2 D (E[z z'] + l2) from D.
  [[nodiscard]] Eigen::MatrixXd decayed(const ConstMatrix& D, double l2, double t) const;

 private:
  /// W m, and the means of W's columns over each topic, minus their mean.
  struct Sums {
    Eigen::VectorXd by_mean;
    Eigen::MatrixXd contrast;
  };
  [[nodiscard]] Sums sums(const ConstMatrix& W) const;

  Sizes size_;
  double word_mean_;  ///< entries of m
  double mask_mean_;
  double between_, cross_;
};

}  // namespace popflow::topic
