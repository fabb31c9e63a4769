#pragma once

#include <string>

#include "compare/recorded.hpp"

namespace popflow {

/// Tables of one comparison: the setting; means with errors where they are furthest apart and at
/// the end; verdicts; the scatter of the runs; drifts of invariants.
std::string describe_tables(const RecordedComparison& of);

}  // namespace popflow
