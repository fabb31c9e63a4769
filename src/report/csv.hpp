#pragma once

#include <iosfwd>
#include <string>

#include "popflow/data_file.hpp"

namespace popflow {

/// Formats a text as one value of a line, in quotes if necessary.
std::string csv_cell(const std::string& text);

/// Writes the observables of a run's file as comma-separated values: a line for each finished save,
/// with the status of the run and the parameters that differ from their defaults. Throws InputError
/// for any other file.
void write_csv(const DataFile& file, std::ostream& out);

/// Writes the observables of all rungs of a comparison; each line has the group of its rung.
void write_comparison_csv(const DataFile& file, std::ostream& out);

}  // namespace popflow
