#pragma once

#include <cstddef>

#include "popflow/lanes.hpp"

namespace popflow {

/// Largest state with noise in lanes: up to this size the symmetric root of the covariance has a
/// closed form.
inline constexpr std::size_t kLargestNoisyLane = 3;

/// Computes x += h f + scale C^(1/2) z in every lane, with C given by its lower triangle, for 1 to
/// 3 entries. Returns whether all lanes of x still hold valid states (steppers/tolerance.hpp).
bool step_lanes(std::size_t entries, double h, double scale, const double* f,
                const double* covariance, const double* z, double* x);

/// Whether all lanes of x hold valid states.
bool all_valid(std::size_t entries, const double* x);

/// Whether any of the `rows` values is not negative where `awaited` is 1, or negative where it is
/// -1.
bool any_reached(std::size_t rows, const double* values, const double* awaited);

}  // namespace popflow
