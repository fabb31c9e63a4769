#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compare/rungs.hpp"
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
  std::vector<Verdict> verdicts;        ///< per pair

  /// Has it a value at any time, in any rung, and is no invariant? Some observables have none at
  /// some settings: there is nothing to be judged.
  [[nodiscard]] bool is_judged() const;
};

/// All statistics of one ladder.
struct Comparison {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;  ///< of rungs, first < second
  std::vector<std::size_t> runs;                           ///< per rung
  std::vector<std::size_t> diverged;                       ///< per rung
  std::vector<ObservableComparison> observables;
};

/// The pairs of n rungs.
std::vector<std::pair<std::size_t, std::size_t>> pairs_of(std::size_t rungs);

/// The observables of one rung. Runs that diverged are left out.
struct RungPaths {
  std::size_t runs = 0;
  std::size_t diverged = 0;
  std::vector<Paths> observables;
};
/// Reads them from the rung's group.
RungPaths read_paths(const DataFile& group, const Rung& rung);

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

/// What a comparison compares at, and with what.
struct ComparisonOptions {
  double delta = 0.05;
  double level = 0.95;
  std::uint64_t seed = 1;
  std::vector<std::string> invariants =
      {};  ///< observables that are kept, all but rounding or noise
};

/// As the options of `compare` say; without invariants.
ComparisonOptions comparison_options(const Parameters& options);

/// Of one observable; `runs` and `paths` are those of each rung.
ObservableComparison compare_observable(const std::string& name, const std::vector<RungRuns>& runs,
                                        const std::vector<const Paths*>& paths,
                                        const ComparisonOptions& options, Workers& workers);

Comparison compare_rungs(const std::vector<RungPaths>& rungs, const SystemInfo& info,
                         const ComparisonOptions& options, Workers& workers);

/// The group `comparison` of some rungs, empty.
GroupSpec comparison_group(const SystemInfo& info, const std::vector<std::string>& rungs,
                           double learning_rate, const std::vector<double>& times, double delta,
                           double level);
GroupSpec comparison_group(const Ladder& ladder, double delta, double level);
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
