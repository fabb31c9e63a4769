#pragma once

#include <set>
#include <string>
#include <vector>

#include "file/stored_file.hpp"
#include "merge/sweep_parts.hpp"
#include "sweep/read_files.hpp"

namespace popflow {

/// Has a variable numbers for each cell, and for each run of it?
bool is_of_cells(const PlacedVariable& variable, const Cells& cells);
bool is_of_runs(const PlacedVariable& variable, const Cells& cells);

/// The variables of cells that the whole has: those of all files, and states and passages only if
/// they are alike in all, as in a sweep of the whole. Files of earlier versions have more, for
/// final values that no cell can have.
std::set<std::string> shared_variables(const std::vector<SweepPart>& parts, const Cells& whole);

/// The layout of the whole, from that of the first part: axes in the place of its cells, and the
/// variables of cells that all have.
GroupSpec whole_layout(const std::vector<SweepPart>& parts, const Cells& whole,
                       const FileContents& contents, const std::set<std::string>& shared);

}  // namespace popflow
