#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compare/rungs.hpp"
#include "compare/statistics.hpp"
#include "file/trajectory_group.hpp"
#include "popflow/data_file.hpp"

namespace popflow {

/// What is said of one observable at one setting: per rung, and per pair of rungs.
struct ObservableComparison {
  std::string name;
  double margin = 0;             ///< delta times the range over the flow; NaN where there is none
  std::vector<Moments> moments;  ///< per rung
  std::vector<Difference> differences;  ///< per pair
  std::vector<EnergyDistance> energy;   ///< per pair, at the last time; NaN for exact rungs
  std::vector<Verdict> verdicts;        ///< per pair
};

/// Everything said at one setting.
struct Comparison {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;  ///< of rungs, first < second
  std::vector<std::size_t> runs;                           ///< per rung
  std::vector<std::size_t> diverged;                       ///< per rung
  std::vector<ObservableComparison> observables;
};

/// The pairs of n rungs.
std::vector<std::pair<std::size_t, std::size_t>> pairs_of(std::size_t rungs);

/// The observables of one rung. Runs that diverged are left out, unless none is left; then all are
/// taken as far as they go.
struct RungPaths {
  std::size_t runs = 0;
  std::size_t diverged = 0;
  std::vector<Paths> observables;
};
/// Reads them from the rung's group.
RungPaths read_paths(const DataFile& group, const Rung& rung);

Comparison compare_rungs(const std::vector<RungPaths>& rungs, const SystemInfo& info, double delta,
                         double level, std::uint64_t seed, Workers& workers);

/// The group `comparison` of a setting, empty.
GroupSpec comparison_group(const Setting& setting, double delta, double level);
/// Fills it.
void write_comparison(const TrajectoryGroup& file, const Comparison& comparison);

/// The group `comparison` of several settings: weak errors against sgd and their orders.
GroupSpec orders_group(const std::vector<Setting>& settings, double level);
void write_orders(const TrajectoryGroup& file, const std::vector<Setting>& settings,
                  const std::vector<Comparison>& comparisons, double level);

}  // namespace popflow
