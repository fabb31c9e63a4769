#pragma once

#include "file/hdf5.hpp"

namespace popflow::hdf5 {

/// Opens the file behind `descriptor` for reading through a driver that checks text heaps before
/// HDF5 reads them; `path` is its name in messages. HDF5 1.10 trusts the sizes in such a heap
/// (where attributes of variable length live), which has no checksum and no bounds: one changed
/// byte makes it read beyond its memory. With this driver, a damaged heap is a failed read.
[[nodiscard]] Handle open_guarded(int descriptor, const std::string& path);

}  // namespace popflow::hdf5
