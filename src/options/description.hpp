#pragma once

#include "popflow/system.hpp"
#include "popflow/system_info.hpp"

namespace popflow {

/// Throws SystemError, naming the system and the problem, if a description cannot be used on a
/// command line or in files. Reasons are names that are reserved, repeated or hard to type, options
/// without a possible value, and words that refer to nothing in the system.
void require_description(const SystemInfo& info);

/// Throws SystemError if a name in a System's shape is missing from its description: the data would
/// silently be missing from files.
void require_shape(const System& system);

/// Throws SystemError, naming the first entry of the state to which the right-hand side writes
/// nothing at the start. Skips states too large to copy.
void require_rhs(const System& system);

}  // namespace popflow
