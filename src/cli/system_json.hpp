#pragma once

#include <string>

#include "cli/commands.hpp"

namespace popflow::cli {

/// The systems, as a JSON list of names and titles.
std::string system_list_json(const Catalogue& catalogue);

/// All that system_page() says of a system, as JSON, and the options that each command which takes
/// a system has besides the system's own: what a program needs that calls this one for its user.
std::string system_json(const SystemInfo& info);

}  // namespace popflow::cli
