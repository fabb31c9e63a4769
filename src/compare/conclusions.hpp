#pragma once

#include <string>

#include "compare/recorded.hpp"

namespace popflow {

/// Returns caveats for a comparison's tables: the meaning of the verdicts, runs that diverged or
/// stopped early, and the effect of the solvers' step sizes.
std::string describe_caveats(const RecordedComparison& of);

/// Returns sentences on which rung is good enough for which subject.
std::string describe_conclusion(const RecordedComparison& of);

}  // namespace popflow
