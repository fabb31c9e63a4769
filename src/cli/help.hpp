#pragma once

#include <string>

#include "cli/commands.hpp"
#include "popflow/system.hpp"

namespace popflow::cli {

/// `popflow --help`.
std::string program_help();

/// `popflow COMMAND --help`; with `system`, its own parameters too.
std::string command_help(const Command& command, const SystemInfo* system);

}  // namespace popflow::cli
