#pragma once

#include "popflow/data_file.hpp"
#include "popflow/file_layout.hpp"

namespace popflow {

/// Throws InputError if an axis of a file differs from its layout: a dataset with other axes, or a
/// coordinate with other values. Missing scales and coordinates are allowed, because other programs
/// may drop them.
void require_axes(const DataFile& file, const GroupSpec& root);

}  // namespace popflow
