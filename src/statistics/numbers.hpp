#pragma once

#include <limits>

namespace popflow {

/// Marks a missing estimate.
inline constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
/// An unbounded end of an interval.
inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();

/// Rounding error that an exactly conserved invariant accumulates over many steps, for numbers of
/// order 1.
inline constexpr double kKept = 1e-12;
/// Relative difference of two numbers that are equal up to rounding.
inline constexpr double kRounding = kKept;

}  // namespace popflow
