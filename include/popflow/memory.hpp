#pragma once

#include <string>

namespace popflow {

/// Bytes in words: "1.6 MB" (powers of 1000).
std::string describe_bytes(double bytes);
/// Bytes of memory that this machine has, or fewer where control groups (of a batch system, of a
/// container) grant this process less.
double physical_memory();
/// Bytes that control groups grant it (version 2: memory.max; version 1: memory.limit_in_bytes);
/// infinite where there is no limit. `root` precedes every path that is read.
double memory_of_control_groups(const std::string& root = "");
/// Throws UsageError that states the need when `doubles` numbers exceed that memory.
void require_memory(double doubles, const std::string& what);

}  // namespace popflow
