#pragma once

#include <string>

#include "popflow/catalogue.hpp"
#include "sweep/whole_sweep.hpp"

namespace popflow {

/// Returns the page of --dry-run: time, memory and file size, estimated by computing some of the
/// cells. `path` is that of the file.
std::string describe_needs(const Sweep& sweep, const Catalogue& catalogue, unsigned threads,
                           const std::string& program, const std::string& path);

/// Throws InputError, with the advice `remedy`, if any file along the axes does not exist,
/// before hours are spent on the cells that come first.
void require_files(const Cells& cells, const std::string& remedy);

/// Tries cells at corners of the grid, before hours are spent on the cells that come first. Systems
/// usually refuse values beyond some point of an axis, where memory also becomes too small; corners
/// show both. Tries as many corners as fit into a second, including the first cell.
void require_corners(const Sweep& sweep, const Catalogue& catalogue, Workers& workers);

/// Returns a sentence with the options that make the file smaller.
std::string size_advice(const Sweep& sweep);

}  // namespace popflow
