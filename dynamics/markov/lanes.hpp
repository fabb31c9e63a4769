#pragma once

#include <span>

#include "dynamics/markov/chain.hpp"
#include "dynamics/markov/path_sums.hpp"
#include "popflow/lanes.hpp"

namespace popflow::markov {

/// The formulas of flow, covariance and event for many trajectories at once, on (e, w) with the
/// optimal bias. What they are is said where System has them for one (system.cpp, chain.cpp,
/// noise.cpp); here no branch depends on a number.
const LaneFormulas& optimal_lanes();
/// On (e, w, b): flow and covariance.
const LaneFormulas& free_lanes();

/// The numbers of optimal_lanes().
void optimal_parameters(const Chain& chain, const PathSums& sums, const SlopeRange& settled,
                        std::span<double> of);
/// The numbers of free_lanes().
void free_parameters(const Chain& chain, const PathSums& sums, std::span<double> of);

}  // namespace popflow::markov
