#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compare/comparison.hpp"
#include "compare/statement.hpp"
#include "popflow/data_file.hpp"

namespace popflow {

/// Events and passage items that a system has with this shape.
std::vector<Subject> happenings_of(const SystemInfo& system, const Shape& shape);
/// Events and passage items that a rung's file or group holds.
std::vector<Subject> happenings_in(const DataFile& group);
/// The subjects of `first`, followed by those found only in `second`.
std::vector<Subject> together(std::vector<Subject> first, const std::vector<Subject>& second);

/// Times of each event or passage item in a rung's runs, from its group.
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
