#pragma once

#include "popflow/state.hpp"
#include "popflow/system.hpp"

namespace popflow {

/// The state that is `x` to the System `from`, as `to` holds it: two Systems of one kind, made from
/// different starts, of which each may integrate the deviations from its own. Throws InputError if
/// `to` cannot hold it.
State in_coordinates_of(const System& to, const System& from, const State& x, const Regime& regime);

}  // namespace popflow
