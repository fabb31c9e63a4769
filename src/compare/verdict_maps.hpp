#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compare/comparison.hpp"
#include "file/trajectory_file.hpp"
#include "popflow/data_file.hpp"
#include "popflow/system_info.hpp"

/// Contents of a comparison of sweeps: for each cell and pair of rungs a verdict and the statistics
/// behind it, as maps over the axes.
namespace popflow {

/// Adds the maps, over axes that the layout already has.
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

/// Describes how many cells of such a file have which verdict.
std::string describe_verdicts(const DataFile& file);

}  // namespace popflow
