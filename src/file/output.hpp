#pragma once

#include <string>
#include <utility>

namespace popflow {

// Place of an output: whether it can be written there, whether it fits, and how it gets its name.
// An output whose path is a symbolic link goes where the link points.

/// Throws UsageError if the output exists; with `force`, throws OutputError if it exists and is not
/// a file.
void require_replaceable(const std::string& path, bool force);

/// Throws as require_replaceable() does before anything is computed, and OutputError if a process
/// writes the file.
void require_free(const std::string& path, bool force);

/// Throws UsageError, with the required size and `advice`, if a file would not fit on the disk.
void require_disk(const std::string& path, double bytes,
                  const std::string& advice = "Fewer --saves or --state ends make it smaller");

/// Creates a hidden file next to that of `path`, with a name that identifies its process; returns
/// its descriptor and its name. Throws OutputError.
std::pair<int, std::string> open_temporary(const std::string& path);

/// Gives a finished file its final name. Without `force`, never replaces a file, even one that has
/// appeared meanwhile. Throws UsageError, OutputError.
void give_name(const std::string& temporary, const std::string& path, bool force);

}  // namespace popflow
