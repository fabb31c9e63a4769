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
  /// Times of save-at, rounded to whole steps; empty if none are given.
  Schedule save_at = {};
};

/// Resolves t-end, steps and the options for saves. If no option gives an end, uses `default_end`.
/// Throws UsageError if the options disagree.
Course course_of(const Parameters& options, const ModePlan& mode,
                 const std::function<double()>& default_end);

/// End of a flow if no option gives one. Throws UsageError if it is not finite.
double default_end(const System& system);

/// Returns a note if the given end is not a whole number of steps; empty otherwise.
std::string rounded_end_note(const Parameters& given, const ModePlan& mode, double end);

/// Throws UsageError if the run has too many steps to be counted. Sampled noise of an SDE also
/// counts the steps of the learning rate, because each of them has its own samples.
void require_countable_steps(const ModePlan& mode, double end, const System& system);

}  // namespace popflow
