#pragma once

namespace popflow {

/// How the errors of a step's entries, each in units of its own tolerance, become one number.
enum class ErrorNorm {
  largest,  ///< the largest of them: every entry keeps its tolerance
  rms       ///< the root of their mean square: a few entries may exceed theirs
};

}  // namespace popflow
