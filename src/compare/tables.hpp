#pragma once

#include <string>

#include "compare/recorded.hpp"

namespace popflow {

/// Returns the tables of one comparison: the setting; means with errors at the time of the largest
/// difference and at the end; verdicts; the scatter of the runs; drifts of invariants.
std::string describe_tables(const RecordedComparison& of);

}  // namespace popflow
