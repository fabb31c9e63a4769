#pragma once

#include <string>

#include "cli/commands.hpp"

namespace popflow::cli {

/// The systems, as a JSON list of names and titles.
std::string system_list_json(const Catalogue& catalogue);

/// The contents of system_page() as JSON, plus the options that each command for a system has
/// besides the system's own. Meant for programs that call this one on behalf of a user.
std::string system_json(const SystemInfo& info);

}  // namespace popflow::cli
