#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "file/trajectory_file.hpp"
#include "plan/schedule.hpp"
#include "popflow/catalogue.hpp"
#include "popflow/data_file.hpp"
#include "popflow/error.hpp"
#include "run/run.hpp"

namespace popflow {

/// Calls `make` on the configuration in the file at `path`: a UsageError is then the file's fault,
/// an InputError.
template <class Make>
auto blaming_file(const std::string& path, Make make) {
  try {
    return make();
  } catch (const UsageError& error) {
    throw InputError(path + ": " + error.what());
  }
}

/// The configuration of the run in a file, with its problem read from that file: it makes the same
/// System without any other file. Throws InputError if the file is not a popflow run.
RunConfig config_of_file(const DataFile& file, const Catalogue& catalogue);

/// Replaces the options from which the problem and the start were made by the problem in the file,
/// where the system has one.
void use_own_problem(RunConfig& config, const DataFile& file, const SystemInfo& info);

/// The work that `resume` has to do.
struct ResumePlan {
  ResumePlan(RunConfig from_file, RunConfig as_recorded)
      : config(std::move(from_file)), recorded(std::move(as_recorded)) {}
  RunConfig config;          ///< with the problem read from the file
  RunConfig recorded;        ///< as a longer file records it: the original one, to its new end
  bool finished = false;     ///< nothing to do
  std::string why_finished;  ///< in words
  bool extends = false;      ///< the end is later than the file's: a new file is laid out
  Schedule schedule;
  Spacing spacing;
  double wall_time = 0;
  std::int64_t resumed = 0;  ///< how often the run was resumed before
};

/// Reads the file and weighs it against the options. Throws InputError for a wrong file, UsageError
/// for an end that the file cannot be extended to.
ResumePlan plan_resume(const std::string& path, const ResumeOptions& options,
                       const Catalogue& catalogue);

/// How often it was resumed, by its file.
std::int64_t times_resumed(const DataFile& file);

/// Throws InputError unless popflow wrote the file, in a format that this program reads.
void require_format(const DataFile& file);
/// The run's own configuration, as its file records it. Throws InputError as config_of_file() does.
RunConfig recorded_config(const DataFile& file, const Catalogue& catalogue);

/// Lays the longer file out next to the old one, copies what the old one holds (its history, too),
/// and renames it over the old one. A kill before that leaves the old file as it was, and so does a
/// signal, upon which it throws Interrupted.
TrajectoryFile extend_file(const std::string& path, GroupSpec layout);

}  // namespace popflow
