#pragma once

#include "popflow/data_file.hpp"
#include "popflow/file_layout.hpp"

namespace popflow {

/// Throws InputError where an axis of a file is another than its layout says: a dataset with other
/// axes, or a coordinate with other values. Scales and coordinates that are not there any more,
/// which other programs may drop, are not missed.
void require_axes(const DataFile& file, const GroupSpec& root);

}  // namespace popflow
