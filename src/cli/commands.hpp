#pragma once

#include <string>
#include <vector>

#include "popflow/error.hpp"
#include "popflow/parameter.hpp"

namespace popflow::cli {

/// One command: the only place where its words are written.
struct Command {
  std::string name;
  std::string arguments;  ///< as a synopsis shows them, "NAME [options]"
  std::string summary;    ///< half a sentence
  std::string description;
  bool takes_system;       ///< its first argument is a system's name
  bool takes_file;         ///< its first argument is a file
  ParameterTable options;  ///< without a system's own parameters
  ExitCode (*run)(const std::vector<std::string>& args);
};

/// The commands, in the order in which help lists them.
const std::vector<Command>& commands();

/// UsageError with the nearest name if there is none.
const Command& find_command(const std::string& name);

}  // namespace popflow::cli
