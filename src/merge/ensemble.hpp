#pragma once

#include "merge/merge.hpp"

namespace popflow {

/// Puts parts of an ensemble (`run --first-run K --runs R`) together: every dataset has the bits of
/// the one large ensemble, and the file can be resumed and extended like it. Knows how the runs of
/// a file are laid out, and nothing of systems.
ExitCode merge_ensemble(const MergeOptions& options, Screen& screen);

}  // namespace popflow
