#pragma once

#include "merge/merge.hpp"
#include "popflow/catalogue.hpp"

namespace popflow {

/// Merges files of one sweep: shards, unfinished files, or sweeps that differ in the values of a
/// single axis and become the larger sweep. Cells that several files have must be the same in all.
ExitCode merge_sweeps(const MergeOptions& options, const Catalogue& catalogue, Screen& screen);

}  // namespace popflow
