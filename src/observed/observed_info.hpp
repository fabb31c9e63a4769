#pragma once

#include <string>
#include <vector>

#include "observed/observation.hpp"
#include "popflow/parameter.hpp"
#include "popflow/system_info.hpp"

namespace popflow {

/// Name of the observable of --sharpness.
inline constexpr const char* kSharpness = "sharpness";

/// Stability threshold of the training rule, which is recorded with the sharpness.
const ObservableInfo& sharpness_threshold();
/// Learning rate over time, recorded if the learning rate has a schedule.
const ObservableInfo& scheduled_learning_rate();

/// Observation that the options of `run` ask for, without the numbers of the training rule.
Observation observation_of(const Parameters& options);

/// Names of the recorded observables, in the system's order. Throws UsageError for observables that
/// the system does not have.
std::vector<std::string> recorded_observables(const SystemInfo& system, const Observation& what);

/// Description of the system with the sharpness, if it is recorded.
SystemInfo with_sharpness(SystemInfo system, const Observation& what);

/// Description of the system with only these observables, in its figures too.
SystemInfo with_observables(SystemInfo system, const std::vector<std::string>& names);

/// Description of the system with the recorded observables. Throws UsageError for unknown names.
SystemInfo observed_info(const SystemInfo& system, const Observation& what);

/// Returns observed_info() of a system that does not have its training rule yet: adds what the rule
/// records.
SystemInfo recorded_info(const SystemInfo& system, const Observation& what);

/// Throws an error for observables and conditions that the system does not have: UsageError, or
/// InputError if a configuration file names them.
void require_observed(const Parameters& options, const SystemInfo& alone);

/// Throws UsageError if the system has no observable of this name. The message begins with
/// `opening`, followed by the name.
void require_observable(const std::string& name, const SystemInfo& system,
                        const std::string& opening);

}  // namespace popflow
