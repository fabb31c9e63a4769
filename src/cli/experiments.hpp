#pragma once

#include <string>

#include "popflow/catalogue.hpp"

namespace popflow::cli {

/// The experiments that come along with systems that the program has: their names, commands and
/// claims.
std::string experiment_list(const std::string& program, const Catalogue& catalogue);

/// The configuration of one. Throws UsageError for another name.
std::string experiment_page(const std::string& name);

}  // namespace popflow::cli
