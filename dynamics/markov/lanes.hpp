#pragma once

#include <span>

#include "dynamics/markov/chain.hpp"
#include "dynamics/markov/path_sums.hpp"
#include "popflow/lanes.hpp"

namespace popflow::markov {

/// Flow, covariance and event of many trajectories at once, on (e, w) with the optimal bias: those
/// of formulas.hpp with Packs for numbers.
const LaneFormulas& optimal_lanes();
/// On (e, w, b): flow and covariance.
const LaneFormulas& free_lanes();

/// The numbers of optimal_lanes().
void optimal_parameters(const Chain& chain, const PathSums& sums, const SlopeRange& settled,
                        std::span<double> of);
/// The numbers of free_lanes().
void free_parameters(const Chain& chain, const PathSums& sums, std::span<double> of);

}  // namespace popflow::markov
