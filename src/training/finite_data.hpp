#pragma once

#include <string>

#include "popflow/function_system.hpp"

namespace popflow {

/// Adds to the functions of the system `name` those that follow from its finite set of samples, if
/// it has one: right-hand side, loss, covariance, and samples of training. Throws SystemError if
/// the set is not valid.
void add_finite(const std::string& name, Functions& functions);

}  // namespace popflow
