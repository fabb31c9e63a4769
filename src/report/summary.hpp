#pragma once

#include <string>
#include <vector>

#include "popflow/data_file.hpp"
#include "popflow/file_layout.hpp"

namespace popflow {

/// Observable of models whose means need Gauss-Hermite rules: their largest change when the points
/// are doubled. Recorded, and not compared between rungs.
inline constexpr const char* kQuadratureError = "quadrature_error";

/// Summary of a run for people, made from its file alone:
///
/// - system, status, times, parameters that differ from their defaults, sizes and constants
/// - events, first and last values of the observables, drifts of the invariants
/// - steps, wall time and the file
///
/// Throws InputError if the file is not the file of a run.
std::string summarize(const DataFile& file);

/// Warnings about a run that ended: counts of failures, stages of a training that did not begin,
/// and means by Gauss-Hermite rules that had too few points.
std::vector<std::string> warnings_at_end(const DataFile& file);
/// Whether a file with this layout has data for such warnings.
bool may_warn_at_end(const GroupSpec& layout);

/// Returns summarize(), followed by the program, place and time that wrote the file.
std::string describe(const DataFile& file);

}  // namespace popflow
