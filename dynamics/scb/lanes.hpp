#pragma once

#include <span>

#include "popflow/lanes.hpp"

namespace popflow::scb {

/// The flow and the events in signal coordinates for many trajectories at once, on
/// (alpha_V, rho_V, alpha_A). What they are is said where ScalarValue and SignalAttention have them
/// for one.
const LaneFormulas& signal_lanes();

/// A problem, as far as its signals feel it.
struct SignalProblem {
  double x, y;  ///< tr(R0' P Sigma), tr(R0' R0 Sigma)
  double K_P, kappa;
  double uniform;  ///< 1/T
  double T;
};
/// The numbers of signal_lanes().
void signal_parameters(const SignalProblem& problem, std::span<double> of);

}  // namespace popflow::scb
