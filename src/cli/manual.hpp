#pragma once

#include <string>

#include "popflow/catalogue.hpp"

namespace popflow::cli {

/// Returns the manual page popflow(1), in roff with the man macros.
std::string manual_page(const Catalogue& catalogue);

}  // namespace popflow::cli
