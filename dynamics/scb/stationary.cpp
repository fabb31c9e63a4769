#include <cmath>

#include "dynamics/scb/problem.hpp"
#include "popflow/error.hpp"

namespace popflow::scb {

// Elimination of Grassmann, Taksar, Heyman, Operations Research 33 (1985) 1107. States are removed
// from the last one on; the remaining matrix is that of the chain observed only in the remaining
// states. The method never uses diagonal entries, so that no 1 - p is computed, and every number is
// a sum of products of non-negative numbers.
Eigen::VectorXd stationary_distribution(const Eigen::MatrixXd& P, const std::string& name) {
  const auto reducible = [&name](const std::string& reason) {
    return InputError(name +
                      " is reducible, so that its stationary distribution is not unique, or not "
                      "positive: " +
                      reason);
  };
  Eigen::MatrixXd a = P;
  for (Eigen::Index n = a.rows() - 1; n > 0; --n) {
    const double leaving = a.col(n).head(n).sum();
    // A subnormal number has lost digits, and division by it may overflow: it counts as zero.
    if (!std::isnormal(leaving)) {
      throw reducible("from token " + std::to_string(n) +
                      " no token of a smaller number is ever reached");
    }
    a.row(n).head(n) /= leaving;
    a.topLeftCorner(n, n).noalias() += a.col(n).head(n) * a.row(n).head(n);
  }

  Eigen::VectorXd mu = Eigen::VectorXd::Zero(a.rows());
  mu[0] = 1;
  for (Eigen::Index n = 1; n < a.rows(); ++n) {
    mu[n] = a.row(n).head(n).dot(mu.head(n));
    if (!std::isnormal(mu[n])) {
      throw reducible("token " + std::to_string(n) +
                      " is never reached from a token of a smaller number");
    }
    mu.head(n + 1) /= 1 + mu[n];
  }
  mu /= mu.sum();
  for (Eigen::Index n = 0; n < mu.size(); ++n) {
    if (!std::isnormal(mu[n])) {
      throw reducible("token " + std::to_string(n) + " is never returned to");
    }
  }
  return mu;
}

}  // namespace popflow::scb
