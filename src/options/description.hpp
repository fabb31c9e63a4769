#pragma once

#include "popflow/system.hpp"
#include "popflow/system_info.hpp"

namespace popflow {

/// Throws SystemError, naming the system and what is wrong, where what it describes cannot be given
/// on a command line or kept in files: names that are taken, twice there or hard to write, options
/// without a value that they could take, and words that stand for nothing that it has.
void require_description(const SystemInfo& info);

/// Throws SystemError where a System's shape has a name that its description has not: what it
/// stands for would be missing from files without a word.
void require_shape(const System& system);

/// Throws SystemError with the first entry of the state of which the right-hand side, at the start,
/// says nothing. States that are too large to be copied are passed over.
void require_rhs(const System& system);

}  // namespace popflow
