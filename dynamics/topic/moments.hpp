#pragma once

#include "dynamics/topic/matrices.hpp"

namespace popflow::topic {

/// All that uniform attention needs of the documents: E[z z'] and E[x z'], z the frequencies of
/// what a document shows and x the true word of a selected position. But for contrasts between
/// topics all documents show the same, so that with P the projection on vectors that are constant
/// within topics and sum to 0
///   E[z z'] = m m' + between P,   E[x z'] = (1/n) 1 m' + cross P,   m = E z.
class Moments {
 public:
  explicit Moments(const Data& data);

  /// E|W z - x|^2 for W of n x (n+1).
  [[nodiscard]] double loss(const ConstMatrix& W) const;
  /// out = d/dW of it.
  void gradient(const ConstMatrix& W, MatrixOut out) const;
  /// E|D z|^2: what a difference from the optimum costs.
  [[nodiscard]] double seen(const ConstMatrix& D) const;
  /// The solution at time t, which may be infinite, of the flow dD/dt = -2 D (E[z z'] + l2) from D.
  [[nodiscard]] Eigen::MatrixXd decayed(const ConstMatrix& D, double l2, double t) const;

 private:
  /// W m, and the means of W's columns over each topic, less their mean.
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
