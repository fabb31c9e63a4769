#pragma once

#include <string>

#include "popflow/catalogue.hpp"

namespace popflow::cli {

/// Returns all commands, options and systems as one Markdown document.
std::string reference_markdown(const Catalogue& catalogue);

}  // namespace popflow::cli
