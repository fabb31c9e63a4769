#pragma once

#include <string>
#include <vector>

#include "popflow/data_file.hpp"
#include "popflow/file_layout.hpp"

namespace popflow {

/// A summary of a run for people, from its file alone: system, status, times, the
/// parameters that are not at their defaults, sizes, constants, events, first and last values of
/// the observables, drifts of the invariants, steps, wall time, the file. Throws InputError if
/// the file is not a run's.
std::string summarize(const DataFile& file);

/// Warnings about a run's end: counts of failures, stages of a training that
/// did not begin.
std::vector<std::string> warnings_at_end(const DataFile& file);
/// Has a file of this layout what they are about?
bool may_warn_at_end(const GroupSpec& layout);

/// summarize(), and by what, where and when the file was written.
std::string describe(const DataFile& file);

}  // namespace popflow
