#pragma once

#include <functional>

#include "file/stored_file.hpp"
#include "file/trajectory_file.hpp"
#include "popflow/data_file.hpp"

namespace popflow {

// Checks for files that are made of other files. Known faults of the inputs are found before
// anything is written. The finished file is read once before it gets its name, because an older
// file of that name may be the only copy of the data.

/// Throws InputError unless a file has every variable that it lists and, for each run in its group
/// `restart`, an intact slot.
void require_complete(const StoredFile& file);

/// Gives a file its name after `read`, which reads the file as its readers do, has returned without
/// an exception.
void publish_readable(TrajectoryFile& file, bool force,
                      const std::function<void(const DataFile&)>& read);

}  // namespace popflow
