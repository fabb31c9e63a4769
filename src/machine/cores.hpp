#pragma once

#include <string>
#include <vector>

namespace popflow {

/// Number of processors that the quotas of this process's control groups allow (version 2: cpu.max;
/// version 1: cpu.cfs_quota_us), including the groups above its own; infinite if there is no quota.
/// `root` precedes every path that is read, including /proc/self.
double quota_of_control_groups(const std::string& root = "");

/// Vector with an entry for each core that this machine can have: 1 if the affinity mask lets this
/// process run on it. Empty if the mask is unknown.
std::vector<int> cores_of_mask();

/// Number of cores that this process may use, at least 1: the cores of its affinity mask, or fewer
/// if control groups allow less time (rounded up).
unsigned usable_cores();

}  // namespace popflow
