#pragma once

#include <limits>

namespace popflow {

/// Where there is nothing to be estimated.
inline constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
/// The end of an interval that has none.
inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();

/// Rounding error of an exactly kept invariant after many steps, in numbers of order 1.
inline constexpr double kKept = 1e-12;
/// And of any two numbers that are equal but for rounding, relative to them.
inline constexpr double kRounding = kKept;

}  // namespace popflow
