#pragma once

#include <string>

#include "cli/commands.hpp"

namespace popflow::cli {

/// Returns the systems as a JSON list of names and titles.
std::string system_list_json(const Catalogue& catalogue);

/// Returns the contents of system_page() as JSON, and the options that each command for a system
/// has in addition to the system's own. For programs that call this one.
std::string system_json(const SystemInfo& info);

}  // namespace popflow::cli
