#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

#include "steppers/dopri5_tableau.hpp"
#include "steppers/largest_entry.hpp"

/// Steps of Dormand and Prince's method on rows of numbers that stay in the cache. The functions
/// are inlined, so that their loops are compiled for the caller's instruction set and row length.
namespace popflow::dopri5 {

/// Rows of slopes, one for each stage.
struct Slopes {
  const double* of[kStages];
};

/// Step length at a position: the same for the whole row, or one per position.
inline double length_at(double h, std::size_t) { return h; }
inline double length_at(const double* h, std::size_t l) { return h[l]; }

template <std::size_t stage, class Length>
inline __attribute__((always_inline)) void advance_to(std::size_t count, const double* __restrict x,
                                                      Length h, const Slopes& k,
                                                      double* __restrict out) {
  for (std::size_t l = 0; l < count; ++l) {
    double sum = kTableau[stage - 1][0] * k.of[0][l];
    for (std::size_t j = 1; j < stage; ++j) sum += kTableau[stage - 1][j] * k.of[j][l];
    out[l] = x[l] + length_at(h, l) * sum;
  }
}

/// Writes to `out` the states at a stage.
template <class Length>
inline __attribute__((always_inline)) void advance(std::size_t stage, std::size_t count,
                                                   const double* x, Length h, const Slopes& k,
                                                   double* out) {
  switch (stage) {
    case 1:
      return advance_to<1>(count, x, h, k, out);
    case 2:
      return advance_to<2>(count, x, h, k, out);
    case 3:
      return advance_to<3>(count, x, h, k, out);
    case 4:
      return advance_to<4>(count, x, h, k, out);
    case 5:
      return advance_to<5>(count, x, h, k, out);
    default:
      return advance_to<6>(count, x, h, k, out);
  }
}

/// Error at position l of a step of length h, in units of the tolerance; NaN if the new state is
/// not finite.
inline __attribute__((always_inline)) double error_at(std::size_t l, const double* x,
                                                      const double* x_new, double h,
                                                      const Slopes& k, double atol, double rtol) {
  constexpr double kOverflows = std::numeric_limits<double>::max() / kLargestEntry;
  double sum = kError[0] * k.of[0][l];
  for (std::size_t j = 2; j < kStages; ++j) sum += kError[j] * k.of[j][l];
  const double before = std::abs(x[l]);
  const double after = std::abs(x_new[l]);
  const double larger = before > after ? before : after;
  // The last term is 0, or NaN if a value is not finite.
  return std::abs(h * sum) / (atol + rtol * larger) + 0 * (kOverflows * after);
}

}  // namespace popflow::dopri5
