#pragma once

#include <string>

namespace popflow::cli {

/// The experiments that come along: their names, commands and claims.
std::string experiment_list(const std::string& program);

/// The configuration of one. Throws UsageError for another name.
std::string experiment_page(const std::string& name);

}  // namespace popflow::cli
