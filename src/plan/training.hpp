#pragma once

#include <optional>

#include "plan/mode_plan.hpp"
#include "training/training_plan.hpp"

namespace popflow {

/// Training plan that the options of `run` select. Empty for plain SGD at a constant learning rate.
/// Throws UsageError if options contradict each other.
std::optional<TrainingPlan> training_plan(const Parameters& options, const ModePlan& mode);

}  // namespace popflow
