#pragma once

#include <cstdint>
#include <string>

#include "popflow/parameter.hpp"

namespace popflow {

/// Puts a value that follows from elsewhere among the parameters. `where` says from where, a path
/// most often; that another value was asked for is an error.
void resolve(Parameters& own, const std::string& name, std::int64_t found,
             const std::string& where);
void resolve(Parameters& own, const std::string& name, double found, const std::string& where);

}  // namespace popflow
