#pragma once

#include <string>

namespace popflow {

/// Bytes in words: "1.6 MB" (powers of 1000).
std::string describe_bytes(double bytes);
/// Memory of this machine in bytes, or less if control groups (of a batch system or a container)
/// grant this process less.
double physical_memory();
/// Memory in bytes that control groups grant this process (version 2: memory.max; version 1:
/// memory.limit_in_bytes); infinite if there is no limit. `root` precedes every path that is read.
double memory_of_control_groups(const std::string& root = "");
/// Throws UsageError that states the need when `doubles` numbers exceed the available memory.
void require_memory(double doubles, const std::string& what);

}  // namespace popflow
