#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

#include "steppers/dopri5_tableau.hpp"
#include "steppers/largest_entry.hpp"

/// Steps of Dormand and Prince's method over rows of numbers that stay in the cache. Inlined, the
/// loops are compiled for the instruction set and the length of the row of their caller.
namespace popflow::dopri5 {

/// The rows of slopes of all stages.
struct Slopes {
  const double* of[kStages];
};

/// The length of a step: one for the whole row, or one for each place.
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

/// The state at a stage.
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

/// The error at place l of a step of length h, in units of the tolerance; NaN where the new state
/// is not finite.
inline __attribute__((always_inline)) double error_at(std::size_t l, const double* x,
                                                      const double* x_new, double h,
                                                      const Slopes& k, double atol, double rtol) {
  constexpr double kOverflows = std::numeric_limits<double>::max() / kLargestEntry;
  double sum = kError[0] * k.of[0][l];
  for (std::size_t j = 2; j < kStages; ++j) sum += kError[j] * k.of[j][l];
  const double before = std::abs(x[l]);
  const double after = std::abs(x_new[l]);
  const double larger = before > after ? before : after;
  // The last term is 0, or NaN.
  return std::abs(h * sum) / (atol + rtol * larger) + 0 * (kOverflows * after);
}

}  // namespace popflow::dopri5
