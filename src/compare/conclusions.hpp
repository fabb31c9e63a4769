#pragma once

#include <string>

#include "compare/recorded.hpp"

namespace popflow {

/// Caveats for the reader of a comparison's tables: the meaning of the verdicts, runs that
/// diverged or stopped early, and how much the solvers' own steps matter.
std::string describe_caveats(const RecordedComparison& of);

/// Which rung is good enough for what.
std::string describe_conclusion(const RecordedComparison& of);

}  // namespace popflow
