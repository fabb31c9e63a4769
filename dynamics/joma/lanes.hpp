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

/// Up to so many tokens lanes pay: more fill vector registers by themselves. All targets are looked
/// at after every step.
inline constexpr std::size_t kMostTokensInLanes = 32;
inline constexpr std::size_t kMostTargetsInLanes = 256;

/// Do lanes hold so many tokens, with a target each in so many nodes?
inline bool fit_lanes(std::size_t tokens, std::size_t targets_each) {
  return tokens <= kMostTokensInLanes && targets_each <= kMostTargetsInLanes / tokens;
}

/// Its flow, its events with their heights, and its passages for many trajectories at once. Those
/// of other numbers of tokens or nodes have other sizes; where rates are held there are other
/// formulas.
LaneFormulas reduced_lanes(const ReducedProblem& of);
/// Its numbers.
void reduced_parameters(const ReducedProblem& problem, std::span<double> of);

}  // namespace popflow::joma
