#pragma once

#include <cstddef>

#include "plan/mode_plan.hpp"
#include "popflow/system.hpp"

namespace popflow {

/// Size, in doubles, of all states that the drivers of `runs` simultaneous runs hold, including
/// states that a method needs within a step.
double numbers_of_states(const System& system, const ModePlan& mode, std::size_t runs);

/// Size of the states, as above, plus the samples that the runs draw.
double numbers_of_runs(const System& system, const ModePlan& mode, std::size_t runs);

}  // namespace popflow
