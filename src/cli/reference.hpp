#pragma once

#include <string>

namespace popflow::cli {

/// All commands, options and systems as one Markdown document.
std::string reference_markdown();

}  // namespace popflow::cli
