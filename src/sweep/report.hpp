#pragma once

#include <iosfwd>
#include <string>

#include "popflow/catalogue.hpp"
#include "popflow/data_file.hpp"

namespace popflow {

/// A sweep's file for people, from the file alone: system, axes, how many cells ended how, and of
/// one or two axes a table of the variable `of` (empty: what the sweep is about). Throws InputError
/// if it is not a sweep's file, UsageError for an unknown `of`.
std::string describe_sweep(const DataFile& file, const Catalogue& catalogue, const std::string& of);

/// The command that runs one cell again, for the words "e0=0.5,w0=-0.9", and what the cell's runs
/// gave.
std::string describe_cell(const DataFile& file, const Catalogue& catalogue,
                          const std::string& program, const std::string& words);

/// A line for each cell and run: all axes as columns, then all else that has one value a run.
void write_sweep_csv(const DataFile& file, const Catalogue& catalogue, std::ostream& out);

}  // namespace popflow
