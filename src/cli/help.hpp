#pragma once

#include <string>

#include "cli/commands.hpp"

namespace popflow::cli {

/// `popflow --help`.
std::string program_help(const Program& program);

/// `popflow COMMAND --help`; with `system`, includes the system's own parameters.
std::string command_help(const Program& program, const Command& command, const SystemInfo* system);

}  // namespace popflow::cli
