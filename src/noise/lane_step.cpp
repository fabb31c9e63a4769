#include "noise/lane_step.hpp"

#include <cmath>

#include "dynamics/common/widest.hpp"
#include "steppers/largest_entry.hpp"

namespace popflow {

namespace {

inline double not_negative(double x) { return x > 0 ? x : 0; }

/// A NaN is no state either.
inline int no_state(double x) { return std::abs(x) <= kLargestEntry ? 0 : 1; }

POPFLOW_WIDEST bool step_one(double h, double scale, const double* f, const double* c,
                             const double* z, double* x) {
  int bad = 0;
  for (std::size_t l = 0; l < kLanes; ++l) {
    x[l] += h * f[l] + scale * std::sqrt(not_negative(c[l])) * z[l];
    bad |= no_state(x[l]);
  }
  return bad == 0;
}

/// See symmetric_root.hpp.
POPFLOW_WIDEST bool step_two(double h, double scale, const double* f, const double* c,
                             const double* z, double* x) {
  int bad = 0;
  for (std::size_t l = 0; l < kLanes; ++l) {
    const double c00 = c[l];
    const double c10 = c[kLanes + l];
    const double c11 = c[2 * kLanes + l];
    const double s = std::sqrt(not_negative(c00 * c11 - c10 * c10));
    const double t = std::sqrt(not_negative(c00 + c11 + 2 * s));
    // Where C vanishes, so does its root; a C that is not finite leaves no state.
    const double by = t != 0 ? scale / t : 0;
    const double z0 = z[l];
    const double z1 = z[kLanes + l];
    x[l] += h * f[l] + by * ((c00 + s) * z0 + c10 * z1);
    x[kLanes + l] += h * f[kLanes + l] + by * (c10 * z0 + (c11 + s) * z1);
    bad |= no_state(x[l]) | no_state(x[kLanes + l]);
  }
  return bad == 0;
}

POPFLOW_WIDEST bool any_reached_of(std::size_t numbers, const double* values,
                                   const double* watched) {
  int reached = 0;
  for (std::size_t i = 0; i < numbers; ++i) reached |= (values[i] >= 0 && watched[i] > 0) ? 1 : 0;
  return reached != 0;
}

}  // namespace

bool step_lanes(std::size_t entries, double h, double scale, const double* f,
                const double* covariance, const double* z, double* x) {
  return entries == 1 ? step_one(h, scale, f, covariance, z, x)
                      : step_two(h, scale, f, covariance, z, x);
}

bool any_reached(std::size_t rows, const double* values, const double* watched) {
  return any_reached_of(rows * kLanes, values, watched);
}

}  // namespace popflow
