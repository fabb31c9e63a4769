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

/// Calls `make` on the configuration in the file at `path` and turns a UsageError into an
/// InputError: the file is wrong, not the command line.
template <class Make>
auto blaming_file(const std::string& path, Make make) {
  try {
    return make();
  } catch (const UsageError& error) {
    throw InputError(path + ": " + error.what());
  }
}

/// Returns the configuration of the run in a file, with its problem read from that file. The
/// configuration makes the same System without any other file. Throws InputError if the file is not
/// a popflow run.
RunConfig config_of_file(const DataFile& file, const Catalogue& catalogue);

/// Replaces the options that made the problem and the start by the problem in the file, if the
/// system has one.
void use_own_problem(RunConfig& config, const DataFile& file, const SystemInfo& info);

/// Work that `resume` has to do.
struct ResumePlan {
  ResumePlan(RunConfig from_file, RunConfig as_recorded)
      : config(std::move(from_file)), recorded(std::move(as_recorded)) {}
  RunConfig config;          ///< with the problem read from the file
  RunConfig recorded;        ///< the original configuration with the new end, for the extended file
  bool finished = false;     ///< nothing to do
  std::string why_finished;  ///< sentence for the user
  bool extends = false;      ///< the end is later than the file's, so a new file is laid out
  Schedule schedule;
  Spacing spacing;
  double wall_time = 0;
  std::int64_t resumed = 0;  ///< how often the run was resumed before
};

/// Reads the file and compares it with the options. Throws InputError for a wrong file, UsageError
/// for an end to which the file cannot be extended.
ResumePlan plan_resume(const std::string& path, const ResumeOptions& options,
                       const Catalogue& catalogue);

/// Returns how often the file's run was resumed.
std::int64_t times_resumed(const DataFile& file);

/// Throws InputError unless popflow wrote the file, in a format that this program reads.
void require_format(const DataFile& file);
/// Parses the stored configuration of a run, sweep or comparison: from_config_text() or its like.
using ConfigParser = RunConfig (*)(const SystemInfo& system, const std::string& text,
                                   const std::string& file);
/// Returns the configuration that a file stores. Throws InputError as require_format() does, and if
/// this program lacks the system or has another version of its plug-in.
RunConfig stored_config(const DataFile& file, const Catalogue& catalogue, ConfigParser parse);
/// Returns the run's own configuration, as its file records it. Throws InputError as
/// config_of_file() does.
RunConfig recorded_config(const DataFile& file, const Catalogue& catalogue);

/// Lays out the longer file next to the old one, copies the old contents and history, and renames
/// it over the old file. A kill or a signal before the rename leaves the old file unchanged; a
/// signal then throws Interrupted.
TrajectoryFile extend_file(const std::string& path, GroupSpec layout);

}  // namespace popflow
