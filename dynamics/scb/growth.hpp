#pragma once

#include "dynamics/scb/parts.hpp"
#include "dynamics/scb/problem.hpp"

/// How the signals grow with linear attention from a uniform start, V0 = mu 1' and A0 = 11'/T.
namespace popflow::scb {

/// Their rate while they are small and above the drift of 1/T that starts them, sqrt(kappa K_P)
/// with the preconditioner.
double growth_rate(const Problem& problem, Variant variant);

/// The time until signal_V signal_A = 1/2, to some 2%, by the two signal equations. Without the
/// preconditioner columns have speeds of their own, and it takes their mean: up to a third too
/// short. For problems with a signal. Takes some 0.1 ms.
double boost_time(const Problem& problem, Variant variant);

}  // namespace popflow::scb
