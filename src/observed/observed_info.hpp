#pragma once

#include <string>
#include <vector>

#include "popflow/parameter.hpp"
#include "popflow/system_info.hpp"

namespace popflow {

/// Name of the observable of --sharpness.
inline constexpr const char* kSharpness = "sharpness";

/// Stability threshold of the training rule, which is recorded with the sharpness.
const ObservableInfo& sharpness_threshold();
/// Learning rate over time, recorded if the learning rate has a schedule.
const ObservableInfo& scheduled_learning_rate();
/// Whether the options of `run` give the learning rate a schedule.
bool has_schedule(const Parameters& options);

/// Whether the options of `run` record the sharpness.
bool records_sharpness(const Parameters& options);

/// Whether the options of `run` record all observables of a System and no others, and have no
/// condition that ends a run. True if there are no such options.
bool is_unobserved(const Parameters& options);

/// Names of the observables that the options of `run` record, in the system's order. Throws
/// UsageError for observables that the system does not have.
std::vector<std::string> recorded_observables(const SystemInfo& system, const Parameters& options);

/// Description of the system with the sharpness, if the options of `run` record it.
SystemInfo with_sharpness(SystemInfo system, const Parameters& options);

/// Description of the system with only these observables, in its figures too.
SystemInfo with_observables(SystemInfo system, const std::vector<std::string>& names);

/// Description of the system with the observables that the options of `run` record. Throws
/// UsageError for unknown names.
SystemInfo observed_info(const SystemInfo& system, const Parameters& options);

/// Throws an error for observables and conditions that the system does not have: UsageError, or
/// InputError if a configuration file names them.
void require_observed(const Parameters& options, const SystemInfo& alone);

/// Throws UsageError if the system has no observable of this name. The message begins with
/// `opening`, followed by the name.
void require_observable(const std::string& name, const SystemInfo& system,
                        const std::string& opening);

}  // namespace popflow
