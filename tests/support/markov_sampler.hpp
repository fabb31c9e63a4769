#pragma once

#include <Eigen/Core>
#include <functional>
#include <vector>

#include "popflow/random.hpp"

namespace popflow::markov::test {

/// Loss of the model on one prediction, and its gradient with respect to (e, w, b).
struct PairLoss {
  double loss = 0;
  Eigen::Vector3d by = Eigen::Vector3d::Zero();
};

/// Returns -log Pr(next | now) of the model at (e, w, b), derived directly from its logit.
PairLoss pair_loss(int now, int next, const Eigen::Vector3d& at);

/// Draws sequences of the chain by its definition: x_0 from the stationary distribution, then
/// symbol by symbol.
class ChainSampler {
 public:
  ChainSampler(double p, double q) : p_(p), q_(q) {}

  [[nodiscard]] std::vector<int> draw(std::size_t length, RandomStream& random) const;

  /// Calls `visit` for the four pairs of successive symbols, with their probabilities.
  void enumerate(const std::function<void(int now, int next, double probability)>& visit) const;

 private:
  [[nodiscard]] double probability_of_one(int now) const { return now == 0 ? p_ : 1 - q_; }
  double p_, q_;
};

/// Returns the mean over the transitions of a sequence.
PairLoss sequence_loss(const std::vector<int>& sequence, const Eigen::Vector3d& at);

}  // namespace popflow::markov::test
