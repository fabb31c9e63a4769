#pragma once

#include <string>

#include "popflow/catalogue.hpp"

namespace popflow::cli {

/// Lists the experiments that come with the program's systems: names, commands and claims.
std::string experiment_list(const std::string& program, const Catalogue& catalogue);

/// Returns the configuration of an experiment. Throws UsageError for an unknown name.
std::string experiment_page(const std::string& name);

}  // namespace popflow::cli
