#pragma once

#include <string>

#include "popflow/error.hpp"
#include "popflow/parameter.hpp"
#include "popflow/system_info.hpp"

namespace popflow::options {

/// Where the command line chooses among alternatives, what a configuration file chose is as if it
/// had not been given. Throws where one place gives two that exclude each other: UsageError for the
/// command line, InputError for a file.
void choose_alternatives(const SystemInfo& system, Parameters& options, Parameters& own);

/// Makes an option one that was not given.
void reset(Parameters& parameters, const std::string& name);

/// Error about two exclusive options that were both given, and where each was.
UsageError exclusion(const Parameters& of_one, const std::string& one, const Parameters& of_other,
                     const std::string& other);

}  // namespace popflow::options
