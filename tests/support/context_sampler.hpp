#pragma once

#include <Eigen/Core>
#include <functional>

#include "dynamics/joma_joint/system.hpp"
#include "popflow/random.hpp"

namespace popflow::joma_joint::test {

/// One sample of the data: a class, and the share of each token in a context of a given length.
struct Sample {
  Eigen::Index of_class = 0;
  Eigen::VectorXd context;
};

/// The parameters that are trained, V as tokens x nodes.
struct Parameters {
  Eigen::MatrixXd V;
  Eigen::VectorXd r, z;
};

/// The model's loss on one sample, and its gradient.
struct SampleLoss {
  double loss = 0;
  Parameters gradient;
};

/// Draws samples of a problem by the definition of its data, without any shortcut.
class ContextSampler {
 public:
  ContextSampler(const Problem& problem, int context_length);

  [[nodiscard]] Sample draw(RandomStream& random) const;
  /// Calls `visit` for every sample there is, with its probability: multinomial contexts.
  void enumerate(const std::function<void(const Sample&, double probability)>& visit) const;

 private:
  const Problem& problem_;
  int length_;
};

/// Loss and gradient written down from the loss itself by the chain rule, with the attention's
/// whole Jacobian.
SampleLoss sample_loss(const Sample& sample, const Parameters& at, const Variant& variant);

}  // namespace popflow::joma_joint::test
