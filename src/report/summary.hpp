#pragma once

#include <string>
#include <vector>

#include "popflow/data_file.hpp"
#include "popflow/file_layout.hpp"

namespace popflow {

/// Summary of a run for people, made from its file alone:
///
/// - system, status, times, parameters that differ from their defaults, sizes and constants
/// - events, first and last values of the observables, drifts of the invariants
/// - steps, wall time and the file
///
/// Throws InputError if the file is not the file of a run.
std::string summarize(const DataFile& file);

/// Warnings about the end of a run: counts of failures, and stages of a training that did not
/// begin.
std::vector<std::string> warnings_at_end(const DataFile& file);
/// Whether a file with this layout has data for such warnings.
bool may_warn_at_end(const GroupSpec& layout);

/// Returns summarize(), followed by the program, place and time that wrote the file.
std::string describe(const DataFile& file);

}  // namespace popflow
