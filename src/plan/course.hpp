#pragma once

#include <functional>
#include <optional>

#include "plan/mode_plan.hpp"
#include "plan/schedule.hpp"
#include "training/training_plan.hpp"

namespace popflow {

/// End of a run, and the times at which it is recorded.
struct Course {
  Times asked = {};
  double end = 0;
  std::int64_t steps = 0;  ///< number of steps if time is counted in steps, otherwise 0
  Schedule schedule = {};
  Spacing spacing = {};
  /// Times of save-at, rounded to whole steps; empty if none are given.
  Schedule save_at = {};
  bool log_was_chosen = false;  ///< whether the program chose logarithmic save times
};

/// Returns the end that a run in this mode is asked for, before it is rounded to whole steps;
/// nothing if no option gives one.
std::optional<double> asked_end(const Times& asked, const ModePlan& mode);

/// Resolves the end and the times of saves. If no option gives an end, uses `default_end`. Throws
/// UsageError if the options disagree.
Course course_of(Times asked, const ModePlan& mode, const std::function<double()>& default_end,
                 double first_stage = 0);

/// End of a flow of plain SGD if no option gives one. Throws UsageError if it is not finite.
double default_end(const System& system);
/// End of a run if no option gives one: when nothing more is to be seen. A training rule has a pace
/// of its own, and a run with noise learns nothing below its noise. Both follow the flow of plain
/// SGD first, unless it is expensive.
double default_end(const System& system, const std::optional<TrainingPlan>& training, bool noisy);

/// Returns a note if the given end is not a whole number of steps; empty otherwise.
std::string rounded_end_note(const Parameters& given, const ModePlan& mode, double end);

/// Throws UsageError if the run has too many steps to be counted. Sampled noise of an SDE also
/// counts the steps of the learning rate, because each of them has its own samples.
void require_countable_steps(const ModePlan& mode, double end, const System& system);

}  // namespace popflow
