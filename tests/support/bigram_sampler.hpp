#pragma once

#include <Eigen/Core>
#include <functional>
#include <vector>

#include "dynamics/scb/problem.hpp"
#include "popflow/random.hpp"

namespace popflow::scb::test {

/// One sample of the data: x_1..x_T, the query k = x_{T+1}, and the target y.
struct Sample {
  std::vector<Eigen::Index> context;
  Eigen::Index query = 0;
  Eigen::Index target = 0;
};

/// Loss of the model on one sample, and its gradient. Only the query's column of A has a nonzero
/// gradient.
struct SampleLoss {
  double loss = 0;       ///< 1/2 |e_y - V X a_k|^2
  Eigen::MatrixXd by_V;  ///< N x N
  Eigen::VectorXd by_a;  ///< T, with respect to the entries of a_k
};

/// Draws samples of a problem directly from the definition of its data.
class BigramSampler {
 public:
  explicit BigramSampler(const Problem& problem);

  [[nodiscard]] Sample draw(RandomStream& random) const;

  /// Calls `visit` for every possible sample, with its probability: N^(T+2) of them.
  void enumerate(const std::function<void(const Sample&, double probability)>& visit) const;

 private:
  const Problem& problem_;
};

/// Loss and gradient at V (N x N) and A (T x N), derived directly from the loss.
SampleLoss sample_loss(const Sample& sample, const Eigen::MatrixXd& V, const Eigen::MatrixXd& A);

}  // namespace popflow::scb::test
