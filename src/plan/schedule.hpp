#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "popflow/parameter.hpp"

namespace popflow {

/// When a run is recorded: increasing times, the last of them the end.
using Schedule = std::vector<double>;

/// As the options saves, save-spacing, save-first and save-at say. Where time is counted in steps
/// of length `step` (else 0), its times are the nearest whole steps, and `t_end` is one. Throws
/// UsageError where the options conflict with the end or each other.
Schedule make_schedule(const Parameters& options, double t_end, double step);

/// Settles save-spacing where it is auto, and then save-first: log where a run to `t_end` takes
/// much longer than its first stage (System::first_stage_time()), and otherwise linear. Returns
/// whether it chose log.
bool settle_spacing(Parameters& options, double t_end, double first_stage);

/// The times of save-at, rounded to whole steps. `asked_end` is the end before it was rounded, too:
/// UsageError for a time beyond it.
Schedule rounded_saves(const Parameters& options, double asked_end, double step);

/// How a schedule continues beyond its end. An extended run may end between two grid points, and
/// still continues at its old spacing when it is extended again.
struct Spacing {
  std::string kind;  ///< "linear", "log", or "listed": one by one, as --save-at gives them
  double step = 0;   ///< difference (linear) or ratio (log) of times that follow one another
};

/// Of the schedule to `t_end`, before its times are rounded to steps.
Spacing spacing_of(const Parameters& options, double t_end, double step);

/// The schedule of a run that is extended to `t_end`: its times, then further ones at the same
/// spacing (listed times: the end alone).
/// Where time is counted in steps of length `step` (else 0), its new times are whole steps.
Schedule extend_schedule(const Schedule& schedule, const Spacing& spacing, double t_end,
                         double step = 0);

/// Changes the options to those whose make_schedule() is `schedule`, the end included.
void describe_schedule(const Schedule& schedule, double step, Parameters& options);

}  // namespace popflow
