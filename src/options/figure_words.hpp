#pragma once

#include <string>

#include "popflow/parameter.hpp"
#include "popflow/system_info.hpp"

namespace popflow::options {

/// The first word of a description of panels (SystemInfo::figure) that neither is one of its
/// keywords nor names anything of the system; empty if there is none.
std::string unknown_in_figure(std::string panels, const SystemInfo& system);

/// Throws UsageError, or InputError where a configuration file has it, if --figure shows something
/// that the system does not have.
void require_figure(const Parameters& options, const SystemInfo& system);

}  // namespace popflow::options
