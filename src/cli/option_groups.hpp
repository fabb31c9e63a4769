#pragma once

#include <string>
#include <vector>

#include "popflow/parameter.hpp"

namespace popflow::cli {

/// Options of a command that answer one question, in the order of the help.
struct OptionGroup {
  std::string question;
  std::vector<Parameter> options;
};

/// Divides a command's options by question, the most used first. Every option is in one group.
std::vector<OptionGroup> option_groups(const ParameterTable& options);

}  // namespace popflow::cli
