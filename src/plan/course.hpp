#pragma once

#include <functional>

#include "plan/mode_plan.hpp"
#include "plan/schedule.hpp"

namespace popflow {

/// End of a run, and the times at which it is recorded.
struct Course {
  double end = 0;
  std::int64_t steps = 0;  ///< number of steps if time is counted in steps, otherwise 0
  Schedule schedule = {};
  Spacing spacing = {};
  /// The times of save-at, rounded to whole steps; empty if none are given.
  Schedule save_at = {};
};

/// Resolves t-end, steps and the options for saves. Without an end among them, uses `default_end`.
/// Throws UsageError if the options disagree.
Course course_of(const Parameters& options, const ModePlan& mode,
                 const std::function<double()>& default_end);

/// End of a flow for which no option gives one. Throws UsageError if it is not finite.
double default_end(const System& system);

/// Remark that the given end is not a whole number of steps; empty if it is, or if none was given.
std::string rounded_end_note(const Parameters& given, const ModePlan& mode, double end);

/// Throws UsageError if the run has more steps than can be counted: the steps of an sde and, for
/// sampled noise, those of the learning rate, because each has its own samples.
void refuse_countless(const ModePlan& mode, double end, const System& system);

}  // namespace popflow
