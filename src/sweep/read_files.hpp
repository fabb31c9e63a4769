#pragma once

#include <string>
#include <vector>

#include "sweep/cells.hpp"

namespace popflow {

/// A line for each file that a sweep's cells read, from its options or along its axes: a hash of
/// its contents, and its path. Kept in the sweep's file, since a sweep that is resumed must go on
/// with what it began with.
std::string contents_of_files(const Cells& cells);

/// Throws UsageError if the sweep's cells read the file that it is to be written to: even with
/// --force, since what has been replaced cannot be read again.
void refuse_output_among_read(const std::string& output, const Cells& cells);

/// Throws InputError that names a file of both lists whose contents differ; `first` and `second`
/// say where the lists are from.
void require_same_contents(const std::string& contents, const std::string& first,
                           const std::string& other, const std::string& second);

/// Lists put together, each line once.
std::string joined_contents(const std::vector<std::string>& lists);

}  // namespace popflow
