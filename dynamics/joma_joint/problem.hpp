#pragma once

#include <Eigen/Core>

#include "popflow/setting.hpp"

namespace popflow::joma_joint {

/// Start of the flow.
struct Start {
  Eigen::MatrixXd
      V;  ///< (node, token): the transpose of V(token, node), with each token's weights contiguous
  Eigen::VectorXd r;  ///< per node
  Eigen::VectorXd z;  ///< per token
};

/// A problem of the joint system: M contextual tokens, C classes, K hidden nodes.
struct Problem {
  Eigen::MatrixXd X;  ///< M x C; column c is the context distribution x_c and sums to 1
  Eigen::VectorXd p;  ///< C class weights that sum to 1
  Start start;
  [[nodiscard]] Eigen::Index tokens() const { return X.rows(); }
  [[nodiscard]] Eigen::Index classes() const { return X.cols(); }
  [[nodiscard]] Eigen::Index nodes() const { return start.r.size(); }
};

/// Draws or reads the problem and its start according to the parameters, and resolves sizes into
/// `ingredients.own`. The start comes from the problem file if it has one, and is drawn otherwise.
///
/// Uses tokens, classes, nodes, data, attention, init-scale and init-logit of `own`. Throws
/// UsageError for conflicting options and sizes too large for the machine, InputError for a wrong
/// file.
Problem make_problem(const Ingredients& ingredients);

}  // namespace popflow::joma_joint
