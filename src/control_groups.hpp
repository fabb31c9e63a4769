#pragma once

#include <functional>
#include <string>

namespace popflow {

/// Limit that one group's folder states, of version 2 or 1; infinite if none.
using GroupLimit = std::function<double(const std::string& folder, bool second_version)>;

/// The least that control groups with a controller ("cpu", "memory") set for this process: its own
/// group and those around it. Infinite without any. `root` precedes every path that is read,
/// /proc/self included.
double least_of_control_groups(const std::string& controller, const GroupLimit& limit,
                               const std::string& root = "");

}  // namespace popflow
