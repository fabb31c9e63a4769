#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>

#include "popflow/setting.hpp"

namespace popflow::joma {

/// (node, token)
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Drives or targets of the nodes, and their start.
struct Problem {
  bool has_target = false;   ///< goal holds targets mu (nonlinear activation), else drives Delta
  Matrix goal;               ///< (node, token)
  std::optional<Matrix> v0;  ///< a start that came with the problem
};

/// Bound on the problem's entries and the temperature, so that no square overflows.
inline constexpr double kLargestNumber = 1e50;

/// Draws or reads the problem according to the parameters, and resolves the activation and the
/// sizes into `from.own`. Throws UsageError for conflicting options and for sizes too large for the
/// machine, InputError for a wrong file.
Problem make_problem(const Ingredients& from);

/// Numbers uniform on [low, high], from a separate stream for each node.
Matrix draw_uniform(Eigen::Index nodes, Eigen::Index tokens, double low, double high,
                    std::uint64_t seed);

/// Pr(l = 1 | m = 1) for the leaves l of a binary latent tree of `depth` levels, whose edges have
/// correlation rho and whose variables have marginal 1/2. The query m of node k is leaf k (from 0
/// again if there are more nodes than leaves). With H the height of the lowest common ancestor, the
/// probability is (1 + rho^(2H))/2, and 1 for l = m. Shape (node, token).
Matrix tree_probabilities(Eigen::Index nodes, int depth, double rho);

}  // namespace popflow::joma
