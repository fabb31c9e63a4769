#pragma once

#include <string>

namespace popflow::cli {

/// A bash completion script: commands, systems, options, words and files.
std::string bash_completion();

}  // namespace popflow::cli
