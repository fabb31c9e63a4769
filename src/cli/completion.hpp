#pragma once

#include <string>

#include "popflow/catalogue.hpp"

namespace popflow::cli {

/// Returns a bash completion script: commands, systems, options, words and files.
std::string bash_completion(const Catalogue& catalogue);

}  // namespace popflow::cli
