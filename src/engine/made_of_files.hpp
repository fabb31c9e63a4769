#pragma once

#include <functional>

#include "file/stored_file.hpp"
#include "file/trajectory_file.hpp"
#include "popflow/data_file.hpp"

namespace popflow {

// Files that are made of other files. What is wrong with these is found before anything is made of
// them, and what nobody thought of before the name of the new file is given: an older file of that
// name may be all that there is.

/// InputError unless a file has every variable that it lists, and of each run in its group
/// `restart` a slot that is intact.
void require_complete(const StoredFile& file);

/// Gives a file its name once `read`, which reads it as its readers will, has not thrown.
void publish_readable(TrajectoryFile& file, bool force,
                      const std::function<void(const DataFile&)>& read);

}  // namespace popflow
