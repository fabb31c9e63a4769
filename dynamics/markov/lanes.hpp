#pragma once

#include <span>

#include "dynamics/markov/chain.hpp"
#include "dynamics/markov/path_sums.hpp"
#include "popflow/lanes.hpp"

namespace popflow::markov {

/// Formulas of flow, covariance and event for many trajectories at once, on (e, w) with the optimal
/// bias: formulas.hpp with Packs as numbers.
const LaneFormulas& optimal_lanes();
/// Formulas of flow and covariance on (e, w, b).
const LaneFormulas& free_lanes();

/// Writes the parameters of optimal_lanes().
void optimal_parameters(const Chain& chain, const PathSums& sums, const SlopeRange& settled,
                        std::span<double> of);
/// Writes the parameters of free_lanes().
void free_parameters(const Chain& chain, const PathSums& sums, std::span<double> of);

}  // namespace popflow::markov
