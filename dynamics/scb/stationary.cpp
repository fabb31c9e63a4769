#include <algorithm>
#include <cmath>

#include "dynamics/scb/problem.hpp"
#include "popflow/error.hpp"

namespace popflow::scb {

namespace {

constexpr Eigen::Index kPanel = 32;  ///< states whose elimination the others see at once
constexpr Eigen::Index kTile = 512;  ///< rows of columns that stay in the cache

/// Adds to the entries in rows and columns before `begin` what the states from `begin` to `end`
/// take and give, the last state first, as one elimination after the other would.
void add_detours(Eigen::MatrixXd& a, Eigen::Index begin, Eigen::Index end) {
  for (Eigen::Index top = 0; top < begin; top += kTile) {
    const Eigen::Index rows = std::min(kTile, begin - top);
    for (Eigen::Index j = 0; j < begin; ++j) {
      auto to = a.col(j).segment(top, rows);
      const auto by = [&](Eigen::Index n) { return a(n, j) * a.col(n).segment(top, rows); };
      Eigen::Index n = end - 1;
      for (; n - 3 >= begin; n -= 4) to = to + by(n) + by(n - 1) + by(n - 2) + by(n - 3);
      for (; n >= begin; --n) to += by(n);
    }
  }
}

}  // namespace

// Elimination of Grassmann, Taksar, Heyman, Operations Research 33 (1985) 1107. States are removed
// from the last one on; the remaining matrix is that of the chain observed only in the remaining
// states. The method never uses diagonal entries, so that no 1 - p is computed, and every number is
// a sum of products of non-negative numbers. Panels of states are eliminated among themselves
// first; the other entries then pass through the cache once a panel instead of once a state.
Eigen::VectorXd stationary_distribution(const Eigen::MatrixXd& P, const std::string& name) {
  const auto reducible = [&name](const std::string& reason) {
    return InputError(name +
                      " is reducible, so that its stationary distribution is not unique, or not "
                      "positive: " +
                      reason);
  };
  Eigen::MatrixXd a = P;
  for (Eigen::Index end = a.rows(); end > 1;) {
    const Eigen::Index begin = std::max<Eigen::Index>(1, end - kPanel);
    for (Eigen::Index n = end - 1; n >= begin; --n) {
      const double leaving = a.col(n).head(n).sum();
      // A subnormal number has lost digits, and division by it may overflow: it counts as zero.
      if (!std::isnormal(leaving)) {
        throw reducible("from token " + std::to_string(n) +
                        " no token of a smaller number is ever reached");
      }
      a.row(n).head(n) /= leaving;
      const Eigen::Index left = n - begin;  // states of the panel
      a.block(0, begin, n, left).noalias() += a.col(n).head(n) * a.row(n).segment(begin, left);
      a.block(begin, 0, left, begin).noalias() +=
          a.col(n).segment(begin, left) * a.row(n).head(begin);
    }
    add_detours(a, begin, end);
    end = begin;
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
