#pragma once

namespace popflow {

/// Norm of the errors of a step's entries, each in units of its own tolerance.
enum class ErrorNorm {
  largest,  ///< maximum: every entry keeps its tolerance
  rms       ///< root mean square: a few entries may exceed their tolerance
};

}  // namespace popflow
