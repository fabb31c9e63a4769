#pragma once

#include <functional>

#include "plan/mode_plan.hpp"
#include "plan/schedule.hpp"

namespace popflow {

/// Where a run ends, and when it is recorded.
struct Course {
  double end = 0;
  std::int64_t steps = 0;  ///< where time is counted in steps, and else 0
  Schedule schedule = {};
  Spacing spacing = {};
  /// The times of save-at, rounded to whole steps; empty where none is given.
  Schedule save_at = {};
};

/// As t-end, steps and the options of saves say; where there is no end among them, `default_end` is
/// asked. Throws UsageError where they disagree.
Course course_of(const Parameters& options, const ModePlan& mode,
                 const std::function<double()>& default_end);

/// Where a flow ends that no option gives an end. Throws UsageError where that is not finite.
double default_end(const System& system);

/// Says so if the end that was given is no whole number of steps; empty if it is, or none was
/// given.
std::string said_of_rounded_end(const Parameters& given, const ModePlan& mode, double end);

/// Throws UsageError if steps that are counted are too many to be. The steps of an sde are; so are
/// those of the learning rate, each of which has samples of its own, where the noise is that of
/// samples.
void refuse_countless(const ModePlan& mode, double end, const System& system);

}  // namespace popflow
