#pragma once

namespace popflow {

/// What the errors of a step's entries, each in units of its tolerance, come to.
enum class ErrorNorm {
  largest,  ///< their largest, so that each entry keeps its tolerance
  rms       ///< the root of their mean square, over which few entries may err more
};

}  // namespace popflow
