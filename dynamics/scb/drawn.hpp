#pragma once

#include <Eigen/Core>
#include <cstdint>

#include "dynamics/scb/problem.hpp"

namespace popflow::scb {

/// A transition matrix (vocabulary x vocabulary) with independent Dirichlet(concentration) columns.
/// Column m depends only on the seed, the vocabulary, the concentration and m. At tiny
/// concentrations entries may underflow to 0; columns still sum to 1.
Eigen::MatrixXd draw_transitions(std::int64_t vocabulary, double concentration, std::uint64_t seed);

/// For each query, `sparsity` distinct positions, uniform on [0, context_length), with
/// Dirichlet(concentration) weights, or equal weights if the concentration is 0. The memory needed
/// does not grow with the context's length. Throws UsageError if sparsity exceeds context_length.
Positions draw_positions(std::int64_t vocabulary, std::int64_t context_length,
                         std::int64_t sparsity, double concentration, std::uint64_t seed);

}  // namespace popflow::scb
