#pragma once

#include "popflow/file_layout.hpp"
#include "sweep/cells.hpp"
#include "sweep/columns.hpp"
#include "sweep/reduction.hpp"

namespace popflow {

/// The whole structure of a sweep's file. With a reduction, what it makes of a cell's runs takes
/// the place of these. Throws UsageError where the name of an axis is that of something else.
GroupSpec sweep_layout(const Cells& cells, const SweepColumns& columns, const Reduction* reduction,
                       unsigned threads);

// Parts of it, for files that are put together.

/// The dimensions that say which cell: the axes, or `cell` in a shard.
std::vector<std::string> cell_dimensions(const Cells& cells);
/// Adds them, and the variables with the values of parameters along them.
void add_axes(GroupSpec& root, const Cells& cells);
/// The group `sweep`: what is swept, as text.
GroupSpec sweep_group(const Cells& cells);

}  // namespace popflow
