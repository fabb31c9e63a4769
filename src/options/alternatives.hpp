#pragma once

#include <string>

#include "popflow/error.hpp"
#include "popflow/parameter.hpp"

namespace popflow::options {

/// Options of which one says instead of another what a run is made from: where the command line
/// chooses among them, what a configuration file chose is as if it had not been given. Throws
/// where one place gives two that exclude each other: UsageError for the command line, InputError
/// for a file.
void settle_alternatives(Parameters& options, Parameters& own);

/// Makes an option one that was not given.
void reset(Parameters& parameters, const std::string& name);

/// What is wrong with two options that were both given, and where each was.
UsageError exclusion(const Parameters& of_one, const std::string& one, const Parameters& of_other,
                     const std::string& other);

}  // namespace popflow::options
