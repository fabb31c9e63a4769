#pragma once

#include <string>

#include "compare/recorded.hpp"

namespace popflow {

/// The tables of one comparison: what was compared; means with their errors where they are furthest
/// apart and at the end; verdicts; how the runs scatter; what became of invariants.
std::string describe_tables(const RecordedComparison& of);

}  // namespace popflow
