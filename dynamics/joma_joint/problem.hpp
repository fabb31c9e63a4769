#pragma once

#include <Eigen/Core>

#include "popflow/setting.hpp"

namespace popflow::joma_joint {

/// Where the flow starts.
struct Start {
  Eigen::MatrixXd
      V;  ///< (node, token): the transpose of V(token, node), a token's weights in a row
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

/// Draws or reads the problem and its start, as the parameters say, and resolves sizes into
/// `ingredients.own`. The start is of the problem file where that has one, else drawn.
///
/// Reads tokens, classes, nodes, data, attention, init-scale and init-logit of `own`. Throws
/// UsageError for conflicting options and sizes beyond the machine, InputError for a wrong file.
Problem make_problem(const Ingredients& ingredients);

}  // namespace popflow::joma_joint
