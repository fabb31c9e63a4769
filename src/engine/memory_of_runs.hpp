#pragma once

#include <cstddef>

#include "plan/mode_plan.hpp"
#include "popflow/system.hpp"

namespace popflow {

/// Numbers that the drivers of `runs` runs at a time hold: states, of which a method keeps some
/// between the ends of a step.
double numbers_of_states(const System& system, const ModePlan& mode, std::size_t runs);

/// Adds the samples that they draw.
double numbers_of_runs(const System& system, const ModePlan& mode, std::size_t runs);

}  // namespace popflow
