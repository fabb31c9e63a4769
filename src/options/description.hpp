#pragma once

#include "popflow/system_info.hpp"

namespace popflow {

/// Throws std::invalid_argument, naming the system and what is wrong, where what it describes
/// cannot be given on a command line or kept in files: names that are taken, twice there or hard to
/// write, options without a value that they could take.
void require_description(const SystemInfo& info);

}  // namespace popflow
