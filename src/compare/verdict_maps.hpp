#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compare/comparison.hpp"
#include "file/trajectory_file.hpp"
#include "popflow/data_file.hpp"
#include "popflow/system_info.hpp"

/// Contents of a comparison of sweeps: a verdict and its statistics for each cell and
/// pair of rungs, as maps over the axes.
namespace popflow {

/// Adds the maps, over axes that the layout has.
void add_verdict_maps(GroupSpec& root, const std::vector<std::string>& axes, std::size_t rungs,
                      const SystemInfo& system, const std::vector<std::string>& invariants);
/// Writes the differences of one observable in a cell.
void write_differences(TrajectoryFile& file, std::uint64_t cell, const ObservableComparison& of);
/// Writes the verdict on each question in a cell.
void write_verdicts(TrajectoryFile& file, std::uint64_t cell,
                    const std::vector<Statement>& statements);
/// Writes the verdicts of all observables, one for each pair of rungs.
void write_verdicts(TrajectoryFile& file, std::uint64_t cell,
                    const std::vector<Verdict::Kind>& of_pairs);

/// How many cells of such a file have which verdict, in words.
std::string describe_verdicts(const DataFile& file);

}  // namespace popflow
