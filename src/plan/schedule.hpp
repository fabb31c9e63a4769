#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "popflow/parameter.hpp"

namespace popflow {

/// Increasing times at which a run is recorded; the last one is the end.
using Schedule = std::vector<double>;

/// Times that the options of a run ask for.
struct Times {
  std::optional<double> end = {};          ///< --t-end
  std::optional<std::int64_t> steps = {};  ///< --steps
  std::int64_t saves = 1;
  std::string spacing = "linear";             ///< linear, log or auto
  std::optional<double> first_save = {};      ///< --save-first
  std::optional<Schedule> listed_saves = {};  ///< --save-at

  Times() = default;
  Times(const Parameters& options);  // NOLINT(google-explicit-constructor): they are their words
  bool operator==(const Times&) const = default;
};

/// Makes the schedule of a run to `t_end`. If time is counted in steps of length `step` (otherwise
/// 0), its times are rounded to whole steps, and `t_end` is a whole number of steps. Throws
/// UsageError if the times conflict with the end or with each other.
Schedule make_schedule(const Times& asked, double t_end, double step);

/// Settles the spacing if it is auto, and then the first save. Chooses log if a run to `t_end` is
/// much longer than its first stage (System::first_stage_time()), otherwise linear. Returns whether
/// it chose log.
bool settle_spacing(Times& asked, double t_end, double first_stage);

/// Listed saves, rounded to whole steps. Throws UsageError for a time beyond `asked_end`, the end
/// before rounding.
Schedule rounded_saves(const Schedule& listed, double asked_end, double step);

/// Spacing by which a schedule continues beyond its end. An extended run may end between two grid
/// points; when it is extended again, it continues at its old spacing.
struct Spacing {
  std::string kind;  ///< "linear", "log", or "listed" (times given by --save-at)
  double step = 0;   ///< difference (linear) or ratio (log) of successive times
};

/// Spacing of the schedule to `t_end`, before its times are rounded to steps.
Spacing spacing_of(const Times& asked, double t_end, double step);

/// Schedule of a run that is extended to `t_end`: its times, then further ones at the same spacing
/// (for listed times: only the end). If time is counted in steps of length `step` (otherwise 0),
/// the new times are whole steps.
Schedule extend_schedule(const Schedule& schedule, const Spacing& spacing, double t_end,
                         double step = 0);

/// Changes the options to those for which make_schedule() gives `schedule`, including the end.
void describe_schedule(const Schedule& schedule, double step, Parameters& options);

}  // namespace popflow
