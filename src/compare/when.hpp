#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compare/comparison.hpp"
#include "compare/statement.hpp"
#include "popflow/data_file.hpp"

namespace popflow {

/// The events and items of passages that a system has here.
std::vector<Subject> happenings_of(const SystemInfo& system, const Shape& shape);
/// The events and items of passages that a rung's file or group holds.
std::vector<Subject> happenings_in(const DataFile& group);
/// The subjects of `first` and, after them, the others of `second`.
std::vector<Subject> together(std::vector<Subject> first, const std::vector<Subject>& second);

/// First times of each happening in a rung's runs, from its group.
std::vector<FirstTimes> read_first_times(const DataFile& group,
                                         const std::vector<Subject>& happenings,
                                         const RungRuns& runs, double end);

/// Which share of the runs has it by the end?
Statement judge_share(const Subject& subject, const std::vector<FirstTimes>& rungs,
                      const ComparisonOptions& options);
/// When: the median time over all runs.
Statement judge_time(const Subject& subject, const std::vector<FirstTimes>& rungs,
                     const ComparisonOptions& options);

}  // namespace popflow
