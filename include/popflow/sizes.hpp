#pragma once

#include <cstdint>
#include <string>

#include "popflow/parameter.hpp"

namespace popflow {

/// Sets a parameter whose value is determined elsewhere; throws if the user requested a different
/// value. `where` names the source, usually a path.
void resolve(Parameters& own, const std::string& name, std::int64_t found,
             const std::string& where);
void resolve(Parameters& own, const std::string& name, double found, const std::string& where);

}  // namespace popflow
