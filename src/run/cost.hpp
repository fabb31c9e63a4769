#pragma once

#include <span>
#include <string>

#include "run/experiment.hpp"

namespace popflow {

/// Returns a warning if the experiments together will take more than a minute on `ranks` processes
/// like this one: the estimated duration, and the options that shorten it; above ten minutes the
/// option that shortens it most, and what else that changes. Empty for shorter runs and for flows,
/// whose number of steps is not known beforehand. If there are many steps, tries some of them for a
/// tenth of a second.
std::string cost_warning(std::span<const Experiment* const> experiments, int ranks);

}  // namespace popflow
