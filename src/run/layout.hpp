#pragma once

#include <string>

#include "file/trajectory_file.hpp"
#include "options/run_config.hpp"
#include "plan/plan.hpp"
#include "popflow/driver.hpp"
#include "popflow/system.hpp"

namespace popflow {

/// Returns the whole structure of a run's group, with all values that are known before the run
/// starts. `driver_data` has the names and lengths of the checkpoint's data.
GroupSpec run_layout(const System& system, const RunConfig& config, const Plan& plan,
                     const DriverData& driver_data, unsigned threads);

}  // namespace popflow
