#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compare/rungs.hpp"
#include "compare/statement.hpp"
#include "file/trajectory_group.hpp"
#include "popflow/data_file.hpp"
#include "statistics/difference.hpp"
#include "statistics/energy_distance.hpp"
#include "statistics/moments.hpp"
#include "statistics/paths.hpp"
#include "statistics/verdict.hpp"

namespace popflow {

/// The statistics of one observable at one ladder: per rung, and per pair of rungs.
struct ObservableComparison {
  std::string name;
  bool invariant = false;  ///< what should not move has no range, so no margin and no verdict
  /// Equivalence margin: delta times the range over the flow; NaN where there is none.
  double margin = 0;
  std::vector<Moments> moments;         ///< per rung
  std::vector<Difference> differences;  ///< per pair
  std::vector<EnergyDistance> energy;   ///< per pair, at the last time; NaN for exact rungs
  /// Statistics of log max(x, floor), for a positive observable.
  struct Logarithm {
    std::vector<Moments> moments;         ///< per rung
    std::vector<Difference> differences;  ///< per pair
  };
  std::optional<Logarithm> logarithm = {};
  std::vector<Statement> statements = {};  ///< none of an invariant
};

/// All statistics of one ladder.
struct Comparison {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;  ///< of rungs, first < second
  std::vector<std::size_t> runs;                           ///< per rung
  std::vector<std::size_t> diverged;                       ///< per rung
  std::vector<ObservableComparison> observables;
  std::vector<Statement> statements;  ///< of observables, events and passages, in rows_of() order
};

/// The pairs of n rungs.
std::vector<std::pair<std::size_t, std::size_t>> pairs_of(std::size_t rungs);

/// First times of an event or an item of a passage in the runs of a rung.
struct FirstTimes {
  /// Whether each run counts, and its time: infinite where the event has not come by the end. Runs
  /// that diverged or were stopped before do not count.
  std::vector<std::pair<bool, double>> runs;
  std::size_t stopped = 0;  ///< runs that were stopped before, and did not diverge
  bool exact = false;
  std::string numbers = {};  ///< the random numbers of its runs; empty: shared with no rung

  [[nodiscard]] bool shares_numbers_with(const FirstTimes& other) const {
    return !numbers.empty() && numbers == other.numbers && runs.size() == other.runs.size();
  }
};

/// The observables of one rung, and the times of its events. Runs that diverged are left out.
struct RungPaths {
  std::size_t runs = 0;
  std::size_t diverged = 0;
  std::vector<Paths> observables;
  std::vector<FirstTimes> happenings = {};
};
/// Reads them from the rung's group.
RungPaths read_paths(const DataFile& group, const Rung& rung,
                     const std::vector<Subject>& happenings);

/// Times that were rounded to whole steps in other ways are the same.
inline constexpr double kSameTime = 1e-9;  // of the last

/// Which runs of a rung diverged, and how far the others came.
struct RungRuns {
  bool exact = false;
  std::vector<bool> diverged;  ///< of each run
  std::vector<double> stop;    ///< the time at which it ended; infinite or NaN: not early

  [[nodiscard]] std::size_t left_out() const;
  /// One observable of those that did not diverge, from that of all (runs x times). A run that
  /// stopped early has its last values beside the first time that it did not reach: they are left
  /// out.
  [[nodiscard]] Paths paths(std::vector<double> values, const std::vector<double>& times) const;
};
/// From the time of each run, NaN where it has not come. `end` is that of the runs.
FirstTimes first_times(const std::vector<double>& times, const RungRuns& runs, double end);
/// From the group of a rung of so many runs, with these save times.
RungRuns read_runs(const DataFile& group, std::size_t runs, bool exact,
                   const std::vector<double>& times);
Paths read_observable(const DataFile& group, const std::string& name, const RungRuns& runs,
                      const std::vector<double>& times);

/// How many of a rung's runs diverged.
struct Divergence {
  std::size_t diverged = 0;
  std::size_t runs = 0;
  bool exact = false;  ///< stands for as many runs as it is compared with: all would do the same
};
/// p-value of equal shares of diverged runs.
double divergence_p_value(const Divergence& first, const Divergence& second);

/// Settings of a comparison: margins, level, and what is compared.
struct ComparisonOptions {
  double delta = 0.05;
  double level = 0.95;
  std::uint64_t seed = 1;
  std::vector<std::string> invariants =
      {};                          ///< observables that are kept, all but rounding or noise
  double delta_time = 0.05;        ///< margin of an event's median time, of the flow's own time
  double delta_share = 0.1;        ///< margin of the share of runs that have an event
  double delta_factor = 1.5;       ///< margin of the ratio of geometric means
  std::vector<double> times = {};  ///< of the saves
};

/// As the options of `compare` say; without invariants and times.
ComparisonOptions comparison_options(const Parameters& options);

/// Compares one observable. settle() has not seen its statements yet.
ObservableComparison compare_observable(const ObservableInfo& info,
                                        const std::vector<const Paths*>& paths,
                                        const ComparisonOptions& options, Workers& workers);
/// Where the numbers of the rungs that are compared come from, one observable at a time: those of
/// all runs together may be more than the memory holds.
struct RungNumbers {
  std::vector<Divergence> divergences;  ///< of each rung
  /// An observable of each rung, by its place among those of the system.
  std::function<std::vector<const Paths*>(std::size_t observable)> paths;
  /// When an event or a passage came in the runs of each rung, by its place among `happenings`.
  std::function<std::vector<FirstTimes>(std::size_t happening)> first_times;
};
/// Answers every question about every subject, and corrects for their number. `each` is given each
/// observable's statistics, without its statements.
std::vector<Statement> judge_all(const RungNumbers& rungs, const SystemInfo& info,
                                 const std::vector<Subject>& happenings,
                                 const ComparisonOptions& options, Workers& workers,
                                 const std::function<void(ObservableComparison)>& each);
/// Tells of each pair whether other shares of their runs diverge.
std::vector<bool> diverge_otherwise(const std::vector<Divergence>& rungs, double level);

/// With the statements on `happenings`, of which the rungs have the times.
Comparison compare_rungs(const std::vector<RungPaths>& rungs, const SystemInfo& info,
                         const ComparisonOptions& options, Workers& workers,
                         const std::vector<Subject>& happenings = {});

/// The group `comparison` of some rungs, empty. It needs the invariants and times of `options`.
GroupSpec comparison_group(const SystemInfo& info, const std::vector<std::string>& rungs,
                           double learning_rate, const ComparisonOptions& options,
                           const std::vector<Subject>& happenings);
GroupSpec comparison_group(const Ladder& ladder, const ComparisonOptions& options);
/// The options with the invariants and times of a ladder, and its events and passages.
ComparisonOptions options_of(const Ladder& ladder, ComparisonOptions options);
std::vector<Subject> happenings_of(const Ladder& ladder);
/// Fills it.
void write_comparison(const TrajectoryGroup& file, const Comparison& comparison);
/// Its parts: of the rung at place `rung`, and of one observable.
void write_runs(const TrajectoryGroup& file, std::size_t rung, std::size_t runs,
                std::size_t diverged);
void write_observable(const TrajectoryGroup& file, const ObservableComparison& one);

/// The group `comparison` of several ladders: weak errors against sgd and their orders.
GroupSpec orders_group(const std::vector<Ladder>& ladders, double level);
void write_orders(const TrajectoryGroup& file, const std::vector<Ladder>& ladders,
                  const std::vector<Comparison>& comparisons, double level);

}  // namespace popflow
