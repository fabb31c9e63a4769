#pragma once

#include "merge/merge.hpp"

namespace popflow {

/// Merges parts of an ensemble (`run --first-run K --runs R`): every dataset has the bits of the
/// single large ensemble, and the file can be resumed and extended like it. Depends on the layout
/// of runs in a file, not on systems.
ExitCode merge_ensemble(const MergeOptions& options, Screen& screen);

}  // namespace popflow
