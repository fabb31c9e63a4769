#pragma once

#include "merge/merge.hpp"
#include "popflow/catalogue.hpp"

namespace popflow {

/// Puts files of one sweep together: shards, files that are not finished, or sweeps that differ in
/// the values of one axis alone, which become the larger sweep. Cells that several files have must
/// be the same in all.
ExitCode merge_sweeps(const MergeOptions& options, const Catalogue& catalogue, Screen& screen);

}  // namespace popflow
