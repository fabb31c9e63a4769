#pragma once

#include <set>
#include <string>
#include <vector>

#include "file/stored_file.hpp"
#include "merge/sweep_parts.hpp"
#include "sweep/read_files.hpp"

namespace popflow {

/// Returns whether a variable has numbers for each cell or for each run of a cell.
bool is_of_cells(const PlacedVariable& variable, const Cells& cells);
bool is_of_runs(const PlacedVariable& variable, const Cells& cells);

/// Returns the variables of cells that the whole has: those of all files, and states and passages
/// only if they have one shape in all files, as in a single large sweep. Files of earlier versions
/// also have variables for final values that no cell can have; these are left out.
std::set<std::string> shared_variables(const std::vector<SweepPart>& parts, const Cells& whole);

/// Returns the layout of the whole, made from that of the first part: axes in place of its cells,
/// and the variables of cells that all parts have.
GroupSpec whole_layout(const std::vector<SweepPart>& parts, const Cells& whole,
                       const FileContents& contents, const std::set<std::string>& shared);

}  // namespace popflow
