#pragma once

#include <iosfwd>
#include <string>

#include "popflow/data_file.hpp"

namespace popflow {

/// A text as one value of a line: in quotes if it must be.
std::string csv_cell(const std::string& text);

/// The observables of a run's file as comma-separated values, a line for each save that is done,
/// with how the run ended and the parameters that are not at their defaults. Throws InputError for
/// another file.
void write_csv(const DataFile& file, std::ostream& out);

/// Writes the observables of all rungs of a comparison, with the group of each line.
void write_comparison_csv(const DataFile& file, std::ostream& out);

}  // namespace popflow
