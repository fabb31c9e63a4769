#pragma once

#include <iosfwd>
#include <string>

#include "popflow/catalogue.hpp"
#include "popflow/data_file.hpp"

namespace popflow {

/// Describes a sweep's file for people, from the file alone: system, axes, how many cells ended
/// how, and for one or two axes a table of the variable `of` (empty: the main variable). Throws
/// InputError if the file is not a sweep's, UsageError for an unknown `of`.
std::string describe_sweep(const DataFile& file, const Catalogue& catalogue, const std::string& of);

/// Returns the command that runs one cell again, for the words "e0=0.5,w0=-0.9", and the results of
/// the cell's runs.
std::string describe_cell(const DataFile& file, const Catalogue& catalogue,
                          const std::string& program, const std::string& words);

/// Writes a line for each cell and run: all axes as columns, then everything else with one value
/// per run.
void write_sweep_csv(const DataFile& file, const Catalogue& catalogue, std::ostream& out);

}  // namespace popflow
