#pragma once

#include <cstddef>
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

/// Writes the observables of kLanes states of one chain with the optimal bias, row by row as in
/// ObservesInLanes, followed by a row that is 1 where they have the bits of Markov::observe(), and
/// 0 where the state must be observed alone (slopes and gradients near the ends of the range of
/// numbers).
inline constexpr std::size_t kOptimalObservables = 7;
void observe_optimal_lanes(const Chain& chain, const double* x, double* values);

}  // namespace popflow::markov
