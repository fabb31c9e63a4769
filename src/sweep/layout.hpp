#pragma once

#include "popflow/file_layout.hpp"
#include "sweep/cells.hpp"
#include "sweep/columns.hpp"
#include "sweep/reduction.hpp"

namespace popflow {

/// Returns the whole structure of a sweep's file. With a reduction, the reduced values of a cell
/// replace those of its runs. Throws UsageError if the name of an axis is already in use.
GroupSpec sweep_layout(const Cells& cells, const SweepColumns& columns, const Reduction* reduction,
                       unsigned threads);

// Parts of the layout, for merged files.

/// Returns the dimensions of cells: the axes, or `cell` in a shard.
std::vector<std::string> cell_dimensions(const Cells& cells);
/// Adds these dimensions, and the variables with the values of parameters along them.
void add_axes(GroupSpec& root, const Cells& cells);
/// Returns the group `sweep`: the axes, as text.
GroupSpec sweep_group(const Cells& cells);

}  // namespace popflow
