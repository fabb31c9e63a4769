#pragma once

#include <Eigen/Core>

#include "popflow/workers.hpp"

namespace popflow::joma_joint {

/// Entropy of the attention, averaged over classes, and its rate of change along a flow.
struct Entropy {
  double value = 0;
  double rate = 0;
  double rate_size = 0;  ///< sum of the magnitudes of the rate's terms
};

/// Entropy of |b_c| as a distribution, averaged with the weights p. B is C x M and holds b_c in its
/// rows. NaN if a class with a positive weight has no attention.
double attention_entropy(const Eigen::MatrixXd& B, const Eigen::VectorXd& p, Workers& workers);

/// Entropy and its rate, where |b_{c,l}| grows at the rate |b_{c,l}| log_rates[l]; classes without
/// attention are ignored.
Entropy attention_entropy_and_rate(const Eigen::MatrixXd& B, const Eigen::VectorXd& p,
                                   const Eigen::VectorXd& log_rates, Workers& workers);

}  // namespace popflow::joma_joint
