#pragma once

#include <span>
#include <string>

#include "run/experiment.hpp"

namespace popflow {

/// Warning about experiments that will take more than a minute together on `ranks` processes like
/// this one: how long about, and which options shorten them. Empty where they take less, or where
/// that cannot be told: the steps of a flow are not counted beforehand. Where many steps are ahead,
/// it tries some of them for a tenth of a second.
std::string said_of_cost(std::span<const Experiment* const> experiments, int ranks);

}  // namespace popflow
