#pragma once

#include <functional>
#include <string>

namespace popflow {

/// Limit in the folder of one group, of version 2 or 1; infinite if the folder sets none.
using GroupLimit = std::function<double(const std::string& folder, bool second_version)>;

/// Smallest limit of a controller ("cpu", "memory") in the process's own control group and those
/// above it; infinite if there is none. `root` precedes every path that is read, including
/// /proc/self.
double control_group_limit(const std::string& controller, const GroupLimit& limit,
                           const std::string& root = "");

}  // namespace popflow
