#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "popflow/parameter.hpp"

namespace popflow {

/// Times at which a run is recorded: increasing, the last one is the end.
using Schedule = std::vector<double>;

/// Makes the schedule from the options saves, save-spacing, save-first and save-at. If time is
/// counted in steps of length `step` (otherwise 0), the times are rounded to whole steps, and
/// `t_end` is a whole number of steps. Throws UsageError if the options conflict with the end or
/// with each other.
Schedule make_schedule(const Parameters& options, double t_end, double step);

/// Settles save-spacing where it is auto, and then save-first: log where a run to `t_end` takes
/// much longer than its first stage (System::first_stage_time()), and otherwise linear. Returns
/// whether it chose log.
bool settle_spacing(Parameters& options, double t_end, double first_stage);

/// The times of save-at, rounded to whole steps. Throws UsageError for a time beyond `asked_end`,
/// the end before rounding.
Schedule rounded_saves(const Parameters& options, double asked_end, double step);

/// Continuation of a schedule beyond its end. An extended run may end between two grid points, and
/// still continues at its old spacing when it is extended again.
struct Spacing {
  std::string kind;  ///< "linear", "log", or "listed" (given one by one by --save-at)
  double step = 0;   ///< difference (linear) or ratio (log) of successive times
};

/// Spacing of the schedule to `t_end`, before its times are rounded to steps.
Spacing spacing_of(const Parameters& options, double t_end, double step);

/// Schedule of a run that is extended to `t_end`: its times, then further ones at the same spacing
/// (for listed times: only the end). If time is counted in steps of length `step` (otherwise 0),
/// the new times are whole steps.
Schedule extend_schedule(const Schedule& schedule, const Spacing& spacing, double t_end,
                         double step = 0);

/// Changes the options to those whose make_schedule() is `schedule`, including the end.
void describe_schedule(const Schedule& schedule, double step, Parameters& options);

}  // namespace popflow
