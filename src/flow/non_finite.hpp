#pragma once

#include <string>

#include "popflow/system.hpp"

namespace popflow {

/// Names the entry to blame when a flow has become non-finite after x, in steps of length h. The
/// text continues a message: "; the right-hand side of x[2] is NaN there". Empty if no entry is
/// found. Evaluates the right-hand side at x and a few steps beyond, and catches its exceptions.
std::string blamed_entry(const System& system, StateView x, double t, double h);

}  // namespace popflow
