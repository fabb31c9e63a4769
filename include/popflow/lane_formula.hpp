#pragma once

#include <cstddef>

// Apart from lanes.hpp, so that plug-ins compile without the library's <memory>.
namespace popflow {

/// Number of trajectories of small states that are integrated side by side: several vector
/// registers, so that chains of dependent operations overlap.
inline constexpr std::size_t kLanes = 16;

/// Largest number of entries of a state for which lanes pay off: the working set of a step of
/// sixteen such states stays in the innermost caches.
inline constexpr std::size_t kLargestInLanes = 64;

/// Numbers of rows of the arrays on which formulas work.
struct LaneSizes {
  std::size_t parameters = 0;
  std::size_t entries = 0;  ///< of the state
  bool operator==(const LaneSizes&) const = default;
};

/// Writes numbers for kLanes states `x`. `of` holds the parameters of their problems.
using LaneFormula = void (*)(const LaneSizes& sizes, const double* of, const double* x,
                             double* out);

/// Writes dx/dt, and the lower triangle of Covariance::covariance() row by row.
using LaneCovarianceFormula = void (*)(const double* of, const double* x, double* dxdt,
                                       double* covariance);

}  // namespace popflow
