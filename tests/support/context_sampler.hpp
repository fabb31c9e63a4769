#pragma once

#include <Eigen/Core>
#include <functional>

#include "dynamics/joma_joint/system.hpp"
#include "popflow/random.hpp"

namespace popflow::joma_joint::test {

/// One sample of the data: a class, and the frequency of each token in a context of a given length.
struct Sample {
  Eigen::Index of_class = 0;
  Eigen::VectorXd context;
};

/// Trained parameters, with V as tokens x nodes.
struct Parameters {
  Eigen::MatrixXd V;
  Eigen::VectorXd r, z;
};

/// Loss of the model on one sample, and its gradient.
struct SampleLoss {
  double loss = 0;
  Parameters gradient;
};

/// Draws samples of a problem directly from the definition of its data.
class ContextSampler {
 public:
  ContextSampler(const Problem& problem, int context_length);

  [[nodiscard]] Sample draw(RandomStream& random) const;
  /// Calls `visit` for every possible sample, with its probability: multinomial contexts.
  void enumerate(const std::function<void(const Sample&, double probability)>& visit) const;

 private:
  const Problem& problem_;
  int length_;
};

/// Loss and gradient by the chain rule from the loss, with the attention's full Jacobian.
SampleLoss sample_loss(const Sample& sample, const Parameters& at, const Variant& variant);

}  // namespace popflow::joma_joint::test
