#pragma once

#include <string>

#include "popflow/parameter.hpp"
#include "popflow/system_info.hpp"

namespace popflow::options {

/// Returns the first word of a description of panels (SystemInfo::figure) that is neither a keyword
/// nor a name in the system; empty if there is none.
std::string unknown_in_figure(std::string panels, const SystemInfo& system);

/// Throws UsageError, or InputError for a value from a configuration file, if --figure shows
/// something that the system does not have.
void require_figure(const Parameters& options, const SystemInfo& system);

}  // namespace popflow::options
