#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "popflow/parameter.hpp"

namespace popflow {

/// When a run is recorded: increasing times, the last of them the end.
using Schedule = std::vector<double>;

/// As the options saves, save-spacing, save-first and save-at say. Throws UsageError where they
/// contradict the end or each other.
Schedule make_schedule(const Parameters& options, double t_end);

/// The schedule of a run that is extended to `t_end`: its times, then further ones at the same
/// spacing (with --save-at, the end alone).
Schedule extend_schedule(const Schedule& schedule, const Parameters& options, double t_end);

}  // namespace popflow
