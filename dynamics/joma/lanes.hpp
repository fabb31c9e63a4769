#pragma once

#include <cstddef>
#include <span>

#include "dynamics/joma/attention.hpp"
#include "dynamics/joma/coordinates.hpp"
#include "dynamics/joma/problem.hpp"
#include "popflow/lanes.hpp"

namespace popflow::joma {

/// A problem in reduced coordinates.
struct ReducedProblem {
  const Problem& problem;
  const Start& start;
  const Lines& lines;
  const Attention& attention;
};

/// Largest number of tokens for which lanes pay off: more tokens fill vector registers without
/// lanes. All targets are checked after every step.
inline constexpr std::size_t kMostTokensInLanes = 32;
inline constexpr std::size_t kMostTargetsInLanes = 256;

/// Whether lanes can hold this many tokens, each with targets in this many nodes.
inline bool fit_lanes(std::size_t tokens, std::size_t targets_each) {
  return tokens <= kMostTokensInLanes && targets_each <= kMostTargetsInLanes / tokens;
}

/// Formulas of the flow, its events with their heights, and its passages for many trajectories at
/// once. Problems with other numbers of tokens or nodes have other sizes; held rates have other
/// formulas.
LaneFormulas reduced_lanes(const ReducedProblem& of);
/// Parameters of the formulas.
void reduced_parameters(const ReducedProblem& problem, std::span<double> of);

}  // namespace popflow::joma
