#pragma once

#include <string>

namespace popflow::cli {

/// The manual page popflow(1), in roff with the man macros.
std::string manual_page();

}  // namespace popflow::cli
