#pragma once

#include <functional>
#include <string>

#include "file/stored_file.hpp"
#include "file/trajectory_file.hpp"
#include "popflow/data_file.hpp"
#include "popflow/error.hpp"
#include "text/screen.hpp"

namespace popflow {

// Checks for files that are made of other files. Known faults of the inputs are found before
// anything is written. The finished file is read once before it gets its name, because an older
// file of that name may be the only copy of the data.

/// Throws InputError unless a file has every variable that it lists and, for each run in its group
/// `restart`, an intact slot.
void require_complete(const StoredFile& file);

/// Calls `make`, which creates and fills a file without publishing it. Gives the file its name
/// after `describe`, which reads the file as its readers do, has returned without an exception, and
/// prints the description. If a signal interrupts this, no file remains; prints a warning and
/// returns the exit code.
ExitCode make_of_files(const std::function<TrajectoryFile()>& make,
                       const std::function<std::string(const DataFile&)>& describe, bool force,
                       Screen& screen);

}  // namespace popflow
