#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "popflow/catalogue.hpp"
#include "popflow/error.hpp"
#include "popflow/parameter.hpp"

namespace popflow::cli {

/// The program as the user sees it: its name and its systems.
struct Program {
  std::string name;
  const Catalogue& catalogue;
};

/// One command: the only place where its name and help are written.
struct Command {
  std::string name;
  std::string arguments;  ///< as in a synopsis, "NAME [options]"
  std::string summary;    ///< sentence fragment for help
  std::string description;
  bool takes_system;       ///< whether the first argument is a system's name
  bool takes_file;         ///< whether the first argument is a file
  ParameterTable options;  ///< without the system's own parameters
  ExitCode (*run)(const Program& program, const std::vector<std::string>& args);
};

/// All commands, in the order of the help.
const std::vector<Command>& commands();

/// Finds a command. Throws UsageError with the nearest name if there is none.
const Command& find_command(std::string_view wanted);

}  // namespace popflow::cli
