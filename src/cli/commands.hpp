#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "popflow/catalogue.hpp"
#include "popflow/error.hpp"
#include "popflow/parameter.hpp"

namespace popflow::cli {

/// Program as the user sees it: its name and its systems.
struct Program {
  std::string name;
  const Catalogue& catalogue;
};

/// Command, with its name and its help: both are written only here.
struct Command {
  std::string name;
  std::string arguments;  ///< form of a synopsis, "NAME [options]"
  std::string summary;    ///< sentence fragment for the help
  std::string description;
  bool takes_system;  ///< whether the first argument is a system's name
  bool takes_file;    ///< whether the first argument is a file
  /// Options without the system's own parameters. A function, because making the tables of all
  /// commands would take a good part of the program's start.
  const ParameterTable& (*options)();
  ExitCode (*run)(const Program& program, const std::vector<std::string>& args);
};

/// Returns all commands, in the order of the help.
const std::vector<Command>& commands();

/// Finds a command. Throws UsageError with the nearest name if there is none.
const Command& find_command(std::string_view wanted);

}  // namespace popflow::cli
