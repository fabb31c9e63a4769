#pragma once

#include <string>
#include <vector>

#include "popflow/parameter.hpp"

namespace popflow {

/// Options of `run` that choose the training rule and the schedule of the learning rate.
const ParameterTable& training_options();

/// Returns the names of the rules with moments, whose flows depend on the learning rate.
std::vector<std::string> rules_with_memory();

/// Returns whether an option is one of these.
bool is_of_training(const std::string& option);

}  // namespace popflow
