#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compare/comparison.hpp"
#include "compare/finished_file.hpp"
#include "popflow/file_layout.hpp"
#include "popflow/system_info.hpp"
#include "statistics/paths.hpp"

namespace popflow {

/// A rung that popflow did not compute: somebody's own training, from a netCDF-4 or HDF5 file with
/// the observables over time.
///
/// The file has `time` (or `step`, which a learning rate turns into flow time), and variables named
/// as observables, along (time) or (run, time). It may have `time_of_EVENT` along (run), NaN where
/// the event has not happened. The attribute `deterministic` = 1 says that the one run has no
/// randomness.
struct Trajectories {
  FinishedFile file;
  std::vector<double> times;
  std::size_t runs = 1;
  bool exact = false;                                      ///< one run without randomness
  std::map<std::string, std::vector<double>> observables;  ///< runs x times
  std::map<std::string, std::vector<double>> first_times;  ///< of events; NaN: has not happened
  std::vector<std::string> left_out;  ///< variables over time that are no observables

  /// Paths of these observables at the times with these indices, and the first times of
  /// `happenings` up to `end`.
  [[nodiscard]] RungPaths paths(const std::vector<std::string>& names,
                                const std::vector<std::size_t>& columns,
                                const std::vector<Subject>& happenings, double end) const;
};

/// Whether popflow did not write the file. Throws InputError if it can't be read.
bool is_of_others(const std::string& path);

/// Throws UsageError unless the rung's name can be that of trajectories: no rung of popflow's own,
/// and fit to name a group.
void require_free_word(const FinishedFile& file);

/// Reads the file, or its group `group`. Without `system`, every variable over time counts as an
/// observable. `learning_rate` is for files with `step` in place of `time`. Throws InputError.
Trajectories read_trajectories(const FinishedFile& file, const SystemInfo* system,
                               std::optional<double> learning_rate, const std::string& group = "");

/// The system with those observables alone that all of `given` have. Throws InputError if there are
/// none.
SystemInfo with_observables_of(SystemInfo system, const std::vector<Trajectories>& given);
/// Stands for a system where no rung has one: names the observables that all of `given` have.
SystemInfo system_of(const std::vector<Trajectories>& given);

/// Says what is left out of the comparison: observables that some trajectories lack, and variables
/// that are none. `system` has all observables, `compared` those of with_observables_of().
std::vector<std::string> said_of_left_out(const SystemInfo& system, const SystemInfo& compared,
                                          const std::vector<Trajectories>& given);

/// Times that all rungs have.
struct CommonTimes {
  std::vector<double> times;
  std::vector<std::vector<std::size_t>> columns;  ///< per rung: their indices among its times
};
/// A rung's times, for common_times().
struct TimesOf {
  std::string name;
  const std::vector<double>& times;
};
/// Finds the times that all rungs have. Throws InputError if there are fewer than two.
CommonTimes common_times(const std::vector<TimesOf>& rungs);
/// Says which times are compared if some rung has others; empty if none has.
std::string said_of_times(const CommonTimes& common, const std::vector<TimesOf>& rungs);

/// Paths at the times with these indices.
Paths at_columns(const Paths& paths, const std::vector<std::size_t>& columns);
/// First times up to `end`: what happens later has not happened yet.
void cut_at(double end, FirstTimes& of);

/// Warnings for trajectories whose mean at the start differs, by more than sampling explains, from
/// that of the first rung. `names` are those of the rungs; their paths begin with the first time,
/// and end with the last.
std::vector<std::string> warnings_of_starts(const std::vector<std::string>& names,
                                            std::size_t first_given, const CommonTimes& common,
                                            const SystemInfo& compared,
                                            const std::vector<RungPaths>& rungs);

/// Layout of the group that holds the trajectories in a comparison's file, with its contents.
/// read_trajectories() reads it again.
GroupSpec trajectories_group(const Trajectories& of, const SystemInfo& compared);
/// Adds to the layout of the group `comparison` which rungs are trajectories, and what is compared.
void mark_trajectories(GroupSpec& comparison, const std::vector<Trajectories>& given,
                       const SystemInfo& compared);

/// Events of the system, and of no system, for which some trajectories have times.
std::vector<Subject> happenings_of(const std::vector<Trajectories>& given);

}  // namespace popflow
