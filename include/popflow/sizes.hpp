#pragma once

#include <cstdint>
#include <string>

#include "popflow/parameter.hpp"

namespace popflow {

/// Sets a parameter whose value is determined elsewhere. `where` says where, mostly a path; a
/// different value requested for it is an error.
void resolve(Parameters& own, const std::string& name, std::int64_t found,
             const std::string& where);
void resolve(Parameters& own, const std::string& name, double found, const std::string& where);

}  // namespace popflow
