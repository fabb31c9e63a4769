#pragma once

#include <string>

namespace popflow {

/// Bytes in words: "1.6 MB" (powers of 1000).
std::string describe_bytes(double bytes);
/// Bytes of memory this machine has.
double physical_memory();
/// Throws UsageError that states the need when `doubles` numbers exceed the machine's memory.
void require_memory(double doubles, const std::string& what);

}  // namespace popflow
