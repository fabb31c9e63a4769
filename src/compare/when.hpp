#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compare/comparison.hpp"
#include "compare/statement.hpp"
#include "popflow/data_file.hpp"

namespace popflow {

/// Returns the events and passage items that a system of this shape has.
std::vector<Subject> happenings_of(const SystemInfo& system, const Shape& shape);
/// Returns the events and passage items of a rung's file or group.
std::vector<Subject> happenings_in(const DataFile& group);
/// Returns the subjects of `first`, followed by those found only in `second`.
std::vector<Subject> together(std::vector<Subject> first, const std::vector<Subject>& second);

/// Reads the times of each event or passage item in a rung's runs from its group.
std::vector<FirstTimes> read_first_times(const DataFile& group,
                                         const std::vector<Subject>& happenings,
                                         const RungRuns& runs, double end);

/// Judges the fraction of runs that have the event by the end.
Statement judge_share(const Subject& subject, const std::vector<FirstTimes>& rungs,
                      const ComparisonOptions& options);
/// Judges the median time over all runs.
Statement judge_time(const Subject& subject, const std::vector<FirstTimes>& rungs,
                     const ComparisonOptions& options);

}  // namespace popflow
