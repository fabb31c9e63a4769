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

/// External rung: another program's training, from a netCDF-4 or HDF5 file with the observables
/// over time.
/// The file has `time` (or `step`, which a learning rate turns into flow time), and variables with
/// the names of observables along (time) or (run, time). It may have `time_of_EVENT` along (run),
/// NaN if the event has not happened. The attribute `deterministic` = 1 declares a single run
/// without randomness.
struct Trajectories {
  FinishedFile file;
  std::vector<double> times;
  std::size_t runs = 1;
  bool exact = false;                                      ///< a single run without randomness
  std::map<std::string, std::vector<double>> observables;  ///< runs x times
  std::map<std::string, std::vector<double>> first_times;  ///< of events; NaN: has not happened
  std::vector<std::string> left_out;  ///< variables over time that are not observables

  /// Returns the paths of these observables at the times with these indices, and the first-passage
  /// times of `happenings` up to `end`.
  [[nodiscard]] RungPaths paths(const std::vector<std::string>& names,
                                const std::vector<std::size_t>& columns,
                                const std::vector<Subject>& happenings, double end) const;
};

/// Returns whether popflow did not write the file. Throws InputError if the file can't be read.
bool is_external(const std::string& path);

/// Throws UsageError unless the name is allowed for external trajectories: not a rung of popflow's
/// own, and valid as the name of a group.
void require_free_word(const FinishedFile& file);

/// Reads the file, or its group `group`. Without `system`, every variable over time counts as an
/// observable. `learning_rate` is for files with `step` in place of `time`. Throws InputError.
Trajectories read_trajectories(const FinishedFile& file, const SystemInfo* system,
                               std::optional<double> learning_rate, const std::string& group = "");

/// Returns the system with only those observables that all of `given` have. Throws InputError if
/// there are none.
SystemInfo with_observables_of(SystemInfo system, const std::vector<Trajectories>& given);
/// Makes a description for a comparison without a system, with the observables that all of `given`
/// have.
SystemInfo system_of(const std::vector<Trajectories>& given);

/// Returns notes on what is left out of the comparison: observables that some trajectories lack,
/// and variables that are not observables. `system` has all observables, `compared` those of
/// with_observables_of().
std::vector<std::string> left_out_notes(const SystemInfo& system, const SystemInfo& compared,
                                        const std::vector<Trajectories>& given);

/// Times that all rungs have.
struct CommonTimes {
  std::vector<double> times;
  /// per rung: indices of these times among its own
  std::vector<std::vector<std::size_t>> columns;
};
/// Times of a rung, for common_times().
struct TimesOf {
  std::string name;
  const std::vector<double>& times;
};
/// Finds the times that all rungs have. Throws InputError if there are fewer than two.
CommonTimes common_times(const std::vector<TimesOf>& rungs);
/// Returns a note on which times are compared if some rung has others; empty if none has.
std::string common_times_note(const CommonTimes& common, const std::vector<TimesOf>& rungs);

/// Selects the paths at the times with these indices.
Paths at_columns(const Paths& paths, const std::vector<std::size_t>& columns);
/// Cuts first-passage times at `end`: events after it count as not happened.
void cut_at(double end, FirstTimes& of);

/// Returns warnings for trajectories whose mean at the start differs from that of the first rung by
/// more than sampling explains. `names` are those of the rungs. The paths have the first and the
/// last time.
std::vector<std::string> start_warnings(const std::vector<std::string>& names,
                                        std::size_t first_given, const CommonTimes& common,
                                        const SystemInfo& compared,
                                        const std::vector<RungPaths>& rungs);

/// Returns the layout and contents of the group that holds the trajectories in a comparison's file.
/// read_trajectories() reads the group.
GroupSpec trajectories_group(const Trajectories& of, const SystemInfo& compared);
/// Records in the layout of the group `comparison` which rungs are external, and what is compared.
void mark_trajectories(GroupSpec& comparison, const std::vector<Trajectories>& given,
                       const SystemInfo& compared);

/// Returns the events, whether of the system or not, for which some trajectories have times.
std::vector<Subject> happenings_of(const std::vector<Trajectories>& given);

}  // namespace popflow
