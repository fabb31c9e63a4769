#pragma once

#include "popflow/state.hpp"
#include "popflow/system.hpp"

namespace popflow {

/// Converts the state `x` of the System `from` into a state of `to`. Both are of one kind but were
/// made from different starts, and each may integrate the deviations from its own start. Throws
/// InputError if `to` cannot represent the state.
State in_coordinates_of(const System& to, const System& from, const State& x, const Regime& regime);

}  // namespace popflow
