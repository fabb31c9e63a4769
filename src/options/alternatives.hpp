#pragma once

#include <string>

#include "popflow/error.hpp"
#include "popflow/parameter.hpp"
#include "popflow/system_info.hpp"

namespace popflow::options {

/// Resolves alternatives: a choice on the command line discards the choice of the configuration
/// file. Throws if one source gives two options that exclude each other: UsageError for the command
/// line, InputError for a file.
void choose_alternatives(const SystemInfo& system, Parameters& options, Parameters& own);

/// Resets an option to its default, as if it had not been given.
void reset(Parameters& parameters, const std::string& name);

/// Error for two given options that exclude each other; it names the source of each.
UsageError exclusion(const Parameters& of_one, const std::string& one, const Parameters& of_other,
                     const std::string& other);

}  // namespace popflow::options
