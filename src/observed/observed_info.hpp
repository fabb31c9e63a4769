#pragma once

#include <string>
#include <vector>

#include "popflow/parameter.hpp"
#include "popflow/system_info.hpp"

namespace popflow {

/// Name of the observable of --sharpness.
inline constexpr const char* kSharpness = "sharpness";

/// The number of the training rule that is recorded beside it.
const ObservableInfo& sharpness_threshold();
/// The learning rate over time, of runs whose learning rate has a schedule.
const ObservableInfo& scheduled_learning_rate();
/// Whether options of `run` let the learning rate change.
bool has_schedule(const Parameters& options);

/// Whether options of `run` ask for the sharpness.
bool records_sharpness(const Parameters& options);

/// Whether options of `run` record all of a System's observables, no others, and state no condition
/// that ends a run; or there are no such options.
bool is_unobserved(const Parameters& options);

/// Names of the observables that options of `run` record, in the system's order. Throws UsageError
/// for others than the system has.
std::vector<std::string> recorded_observables(const SystemInfo& system, const Parameters& options);

/// The system's description with the sharpness, if options of `run` ask for it.
SystemInfo with_sharpness(SystemInfo system, const Parameters& options);

/// The system's description with these observables alone, and its figures without the others.
SystemInfo with_observables(SystemInfo system, const std::vector<std::string>& names);

/// The system's description with the observables that options of `run` record. Throws UsageError
/// for what these name wrongly.
SystemInfo observed_info(const SystemInfo& system, const Parameters& options);

/// Throws UsageError, or InputError where a configuration file says it, for observables and
/// conditions that the system does not have.
void require_observed(const Parameters& options, const SystemInfo& alone);

/// Throws UsageError if the system has no observable of this name. The message begins with
/// `opening` and goes on with the name.
void require_observable(const std::string& name, const SystemInfo& system,
                        const std::string& opening);

}  // namespace popflow
