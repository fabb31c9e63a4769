#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "popflow/catalogue.hpp"
#include "popflow/error.hpp"
#include "popflow/parameter.hpp"

namespace popflow::cli {

/// The program as its user sees it: its name, and the systems it offers.
struct Program {
  std::string name;
  const Catalogue& catalogue;
};

/// One command: the only place where its words are written.
struct Command {
  std::string name;
  std::string arguments;  ///< as a synopsis shows them, "NAME [options]"
  std::string summary;    ///< half a sentence
  std::string description;
  bool takes_system;       ///< its first argument is a system's name
  bool takes_file;         ///< its first argument is a file
  ParameterTable options;  ///< without a system's own parameters
  ExitCode (*run)(const Program& program, const std::vector<std::string>& args);
};

/// The commands, in the order in which help lists them.
const std::vector<Command>& commands();

/// UsageError with the nearest name if there is none.
const Command& find_command(std::string_view wanted);

}  // namespace popflow::cli
