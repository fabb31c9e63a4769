#pragma once

#include <string>
#include <vector>

namespace popflow {

/// Processors' worth of time that the control groups of this process grant it, by their quotas
/// (version 2: cpu.max; version 1: cpu.cfs_quota_us), its own group's and those of the groups
/// around it; infinite where there is none. `root` precedes every path that is read, /proc/self
/// included.
double quota_of_control_groups(const std::string& root = "");

/// For each core that this machine can have: 1 if the affinity mask lets this process run on it.
/// Empty where the system does not say.
std::vector<int> cores_of_mask();

/// Cores that this process may use, at least 1: those of its affinity mask, or fewer where control
/// groups grant it less time (a part of a core counts as one). The machine may have more.
unsigned usable_cores();

}  // namespace popflow
