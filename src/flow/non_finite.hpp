#pragma once

#include <string>

#include "popflow/system.hpp"

namespace popflow {

/// Of a flow that became non-finite after x, with steps of length h: the entry whose right-hand
/// side is to blame, as messages go on: "; the right-hand side of x[2] is NaN there". Empty where
/// none is found. Asks for the right-hand side at x and some steps beyond, and takes no exception
/// of it.
std::string blamed_entry(const System& system, StateView x, double t, double h);

}  // namespace popflow
