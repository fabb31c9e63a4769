#pragma once

#include <Eigen/Core>

#include "popflow/workers.hpp"

namespace popflow::joma_joint {

/// The entropy of the attention, a mean over classes, and its rate along a flow.
struct Entropy {
  double value = 0;
  double rate = 0;
  double rate_size = 0;  ///< the sum of the sizes of the terms of the rate
};

/// Entropy of |b_c| as a distribution, mean by the weights p. B is C x M and holds b_c in its rows.
/// NaN where a class with a weight attends to nothing.
double attention_entropy(const Eigen::MatrixXd& B, const Eigen::VectorXd& p, Workers& workers);

/// Entropy and its rate, where |b_{c,l}| grows at the rate |b_{c,l}| log_rates[l]; classes that
/// attend to nothing have none.
Entropy attention_entropy_and_rate(const Eigen::MatrixXd& B, const Eigen::VectorXd& p,
                                   const Eigen::VectorXd& log_rates, Workers& workers);

}  // namespace popflow::joma_joint
