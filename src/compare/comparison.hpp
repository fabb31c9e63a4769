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

/// Statistics of one observable in one ladder, per rung and per pair of rungs.
struct ObservableComparison {
  std::string name;
  bool invariant = false;  ///< an invariant has no range, hence no margin and no verdict
  /// Equivalence margin: delta times the range over the flow; NaN if there is none.
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
  std::vector<Statement> statements = {};  ///< empty for an invariant
};

/// All statistics of one ladder.
struct Comparison {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;  ///< pairs of rungs, first < second
  std::vector<std::size_t> runs;                           ///< per rung
  std::vector<std::size_t> diverged;                       ///< per rung
  std::vector<ObservableComparison> observables;
  std::vector<Statement> statements;  ///< observables, events and passages, in rows_of() order
};

/// Returns all pairs of n rungs.
std::vector<std::pair<std::size_t, std::size_t>> pairs_of(std::size_t rungs);

/// First-passage times of an event, or of an item of a passage, in the runs of a rung.
struct FirstTimes {
  /// Whether each run counts, and its time (infinite if the event has not happened by the end).
  /// Runs that diverged or stopped before the event do not count.
  std::vector<std::pair<bool, double>> runs;
  std::size_t stopped = 0;  ///< runs that stopped before the event and did not diverge
  bool exact = false;
  /// identifies the random numbers of the runs; empty: shared with no rung
  std::string numbers = {};

  [[nodiscard]] bool shares_numbers_with(const FirstTimes& other) const {
    return !numbers.empty() && numbers == other.numbers && runs.size() == other.runs.size();
  }
};

/// Observables of one rung and the times of its events, without the runs that diverged.
struct RungPaths {
  std::size_t runs = 0;
  std::size_t diverged = 0;
  std::vector<Paths> observables;
  std::vector<FirstTimes> happenings = {};
};
/// Reads the paths from the rung's group.
RungPaths read_paths(const DataFile& group, const Rung& rung,
                     const std::vector<Subject>& happenings);

/// Largest distance of equal times, which may have been rounded to whole steps differently.
inline constexpr double kSameTime = 1e-9;  // relative to the last time

/// Status of a rung's runs: which diverged, and the times that the others reached.
struct RungRuns {
  bool exact = false;
  std::vector<bool> diverged;  ///< per run
  /// time at which each run ended; infinite or NaN: at the planned end
  std::vector<double> stop;

  [[nodiscard]] std::size_t left_out() const;
  /// Selects the runs that did not diverge from one observable's values (runs x times). A run that
  /// stopped early repeats its last values at the first time that it did not reach; the repeated
  /// values are left out.
  [[nodiscard]] Paths paths(std::vector<double> values, const std::vector<double>& times) const;
};
/// Makes first-passage times from the time of each run, which is NaN if the event has not happened.
/// `end` is the planned end of the runs.
FirstTimes first_times(const std::vector<double>& times, const RungRuns& runs, double end);
/// Reads the status of the runs from a rung's group. The group has this number of runs and these
/// save times.
RungRuns read_runs(const DataFile& group, std::size_t runs, bool exact,
                   const std::vector<double>& times);
Paths read_observable(const DataFile& group, const std::string& name, const RungRuns& runs,
                      const std::vector<double>& times);

/// Number of a rung's runs that diverged.
struct Divergence {
  std::size_t diverged = 0;
  std::size_t runs = 0;
  bool exact = false;  ///< stands for any number of runs, which would all behave alike
};
/// Returns the p-value of the hypothesis that the fractions of diverged runs are equal.
double divergence_p_value(const Divergence& first, const Divergence& second);

/// Levels, margins and data of a comparison.
struct ComparisonOptions {
  double delta = 0.05;
  double level = 0.95;
  std::uint64_t seed = 1;
  std::vector<std::string> invariants =
      {};                          ///< observables that are conserved up to rounding or noise
  double delta_time = 0.05;        ///< margin of an event's median time, relative to the flow's
  double delta_share = 0.1;        ///< margin of the fraction of runs that have an event
  double delta_factor = 1.5;       ///< margin of the ratio of geometric means
  std::vector<double> times = {};  ///< save times
  /// Per rung, if the population is estimated from fixed samples: whether its runs draw fresh
  /// samples. External rungs, which come last and are left out, count as if they did. Empty: the
  /// population is exact.
  std::vector<bool> fresh = {};
  /// Standard error of the compared observable as an estimate, per rung and at each time; empty:
  /// not known.
  std::vector<std::vector<double>> population_errors = {};

  /// Whether one of two rungs draws fresh samples of an estimated population, the other does not.
  [[nodiscard]] bool differ_in_samples(std::size_t i, std::size_t j) const {
    const auto draws = [&](std::size_t rung) { return rung >= fresh.size() || fresh[rung]; };
    return !fresh.empty() && draws(i) != draws(j);
  }
};

/// Reads the options of `compare`; leaves invariants and times empty.
ComparisonOptions comparison_options(const Parameters& options);

/// Compares one observable. Its statements are not yet corrected by settle().
ObservableComparison compare_observable(const ObservableInfo& info,
                                        const std::vector<const Paths*>& paths,
                                        const ComparisonOptions& options, Workers& workers);
/// Source of the compared numbers. Gives one observable at a time, because the observables of all
/// runs may not fit in memory together.
struct RungNumbers {
  std::vector<Divergence> divergences;  ///< per rung
  /// Returns the paths of an observable in each rung. `observable` is its index in the system.
  std::function<std::vector<const Paths*>(std::size_t observable)> paths;
  /// Returns the times of an event or passage in the runs of each rung. `happening` is its index in
  /// `happenings`.
  std::function<std::vector<FirstTimes>(std::size_t happening)> first_times;
};
/// Answers every question about every subject, with a correction for the number of tests. Calls
/// `each` with the statistics of each observable, without its statements.
std::vector<Statement> judge_all(const RungNumbers& rungs, const SystemInfo& info,
                                 const std::vector<Subject>& happenings,
                                 const ComparisonOptions& options, Workers& workers,
                                 const std::function<void(ObservableComparison)>& each);
/// Returns for each pair whether the fractions of diverged runs differ.
std::vector<bool> divergence_differs(const std::vector<Divergence>& rungs, double level);

/// Compares the rungs, including the statements on `happenings`, whose times are in the rungs.
Comparison compare_rungs(const std::vector<RungPaths>& rungs, const SystemInfo& info,
                         const ComparisonOptions& options, Workers& workers,
                         const std::vector<Subject>& happenings = {});

/// Returns the layout of the group `comparison` of some rungs. Needs the invariants and times of
/// `options`.
GroupSpec comparison_group(const SystemInfo& info, const std::vector<std::string>& rungs,
                           double learning_rate, const ComparisonOptions& options,
                           const std::vector<Subject>& happenings);
/// Completes the options with the invariants and times of a ladder, and its events and passages.
ComparisonOptions options_of(const Ladder& ladder, ComparisonOptions options);
std::vector<Subject> happenings_of(const Ladder& ladder);
/// Writes the group `comparison`.
void write_comparison(const TrajectoryGroup& file, const Comparison& comparison);
/// Write parts of the group: the runs of the rung at index `rung`, and one observable.
void write_runs(const TrajectoryGroup& file, std::size_t rung, std::size_t runs,
                std::size_t diverged);
void write_observable(const TrajectoryGroup& file, const ObservableComparison& one);

/// Returns the layout of the group `comparison` of several ladders: weak errors against sgd, and
/// their orders.
GroupSpec orders_group(const std::vector<Ladder>& ladders, double level);
void write_orders(const TrajectoryGroup& file, const std::vector<Ladder>& ladders,
                  const std::vector<Comparison>& comparisons, double level);

}  // namespace popflow
