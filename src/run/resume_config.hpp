#pragma once

#include <string>
#include <utility>

#include "popflow/data_file.hpp"
#include "popflow/experiment.hpp"
#include "popflow/trajectory_file.hpp"
#include "run/schedule.hpp"

namespace popflow {

/// The configuration of the run in a file, with its problem read from that file: what makes the
/// same System again without any other file. Throws InputError if the file is not a run of ours.
RunConfig config_of_file(const DataFile& file);

/// What `resume` has to do.
struct ResumePlan {
  explicit ResumePlan(RunConfig of_file) : config(std::move(of_file)) {}
  RunConfig config;
  bool finished = false;      ///< nothing to do
  std::string why_finished;   ///< in words
  bool extends = false;       ///< the end is later than the file's: a new file is laid out
  Schedule schedule;
  double wall_time = 0;
  std::int64_t resumed = 0;   ///< how often the run was resumed before
};

/// Reads the file and weighs it against the options. Throws InputError for a wrong file, UsageError
/// for an end that the file cannot be extended to.
ResumePlan plan_resume(const std::string& path, const ResumeOptions& options);

/// Lays the longer file out beside the old one, copies what the old one holds, and renames it over
/// the old one. A kill before that leaves the old file as it was.
TrajectoryFile extend_file(const std::string& path, const GroupSpec& layout);

}  // namespace popflow
