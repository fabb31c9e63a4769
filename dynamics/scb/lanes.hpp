#pragma once

#include <span>

#include "dynamics/scb/signal.hpp"
#include "popflow/lanes.hpp"

namespace popflow::scb {

/// A problem in signal coordinates.
template <class Number>
struct SignalProblem {
  ValueTraces<Number> value;
  AttentionTraces<Number> attention;
  Number T;
};

/// Formulas of the flow and the events in signal coordinates for many trajectories at once, on
/// (alpha_V, rho_V, alpha_A).
const LaneFormulas& signal_lanes();
/// Writes the parameters of signal_lanes().
void signal_parameters(const SignalProblem<double>& problem, std::span<double> of);

}  // namespace popflow::scb
