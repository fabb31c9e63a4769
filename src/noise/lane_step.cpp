#include "noise/lane_step.hpp"

#include <cmath>

#include "noise/symmetric_root.hpp"
#include "popflow/widest.hpp"
#include "steppers/largest_entry.hpp"

namespace popflow {

namespace {

inline double not_negative(double x) { return x > 0 ? x : 0; }

/// Returns 1 for an invalid entry (too large or NaN), otherwise 0.
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

/// Step of two entries, by the root of a 2 x 2 matrix (symmetric_root.hpp).
POPFLOW_WIDEST bool step_two(double h, double scale, const double* f, const double* c,
                             const double* z, double* x) {
  int bad = 0;
  for (std::size_t l = 0; l < kLanes; ++l) {
    const double c00 = c[l];
    const double c10 = c[kLanes + l];
    const double c11 = c[2 * kLanes + l];
    const double s = std::sqrt(not_negative(c00 * c11 - c10 * c10));
    const double t = std::sqrt(not_negative(c00 + c11 + 2 * s));
    // Where C is zero, so is its root. A non-finite C gives an invalid state.
    const double by = t != 0 ? scale / t : 0;
    const double z0 = z[l];
    const double z1 = z[kLanes + l];
    x[l] += h * f[l] + by * ((c00 + s) * z0 + c10 * z1);
    x[kLanes + l] += h * f[kLanes + l] + by * (c10 * z0 + (c11 + s) * z1);
    bad |= no_state(x[l]) | no_state(x[kLanes + l]);
  }
  return bad == 0;
}

inline SymmetricRoot3 root_of(const double* c, std::size_t l) {
  return SymmetricRoot3::of(c[l], c[kLanes + l], c[2 * kLanes + l], c[3 * kLanes + l],
                            c[4 * kLanes + l], c[5 * kLanes + l]);
}

/// Whether any lane's covariance has full rank. If none has full rank, as in systems with two noise
/// sources, half of the work for the root can be skipped.
POPFLOW_WIDEST bool any_regular(const double* c) {
  int regular = 0;
  for (std::size_t l = 0; l < kLanes; ++l) regular |= root_of(c, l).i3 > 0 ? 1 : 0;
  return regular != 0;
}

// `__restrict`: gcc does not vectorise if it must rule out aliasing among so many arrays.
template <bool Regular>
inline __attribute__((always_inline)) bool step_by_root(double h, double scale,
                                                        const double* __restrict f,
                                                        const double* __restrict c,
                                                        const double* __restrict z,
                                                        double* __restrict x) {
  int bad = 0;
  for (std::size_t l = 0; l < kLanes; ++l) {
    SymmetricRoot3 root = root_of(c, l);
    if constexpr (Regular) root.complete();
    const auto [x0, x1, x2] = root.times(scale, z[l], z[kLanes + l], z[2 * kLanes + l]);
    x[l] += h * f[l] + x0;
    x[kLanes + l] += h * f[kLanes + l] + x1;
    x[2 * kLanes + l] += h * f[2 * kLanes + l] + x2;
    bad |= no_state(x[l]) | no_state(x[kLanes + l]) | no_state(x[2 * kLanes + l]);
  }
  return bad == 0;
}

POPFLOW_WIDEST bool step_plane(double h, double scale, const double* f, const double* c,
                               const double* z, double* x) {
  return step_by_root<false>(h, scale, f, c, z, x);
}
POPFLOW_WIDEST bool step_three(double h, double scale, const double* f, const double* c,
                               const double* z, double* x) {
  return step_by_root<true>(h, scale, f, c, z, x);
}

POPFLOW_WIDEST bool all_valid_of(std::size_t numbers, const double* x) {
  int bad = 0;
  for (std::size_t i = 0; i < numbers; ++i) bad |= no_state(x[i]);
  return bad == 0;
}

POPFLOW_WIDEST bool any_reached_of(std::size_t numbers, const double* values,
                                   const double* awaited) {
  int reached = 0;
  for (std::size_t i = 0; i < numbers; ++i)
    reached |= (awaited[i] > 0 && !(values[i] < 0)) || (awaited[i] < 0 && values[i] < 0) ? 1 : 0;
  return reached != 0;
}

}  // namespace

bool step_lanes(std::size_t entries, double h, double scale, const double* f,
                const double* covariance, const double* z, double* x) {
  return entries == 1              ? step_one(h, scale, f, covariance, z, x)
         : entries == 2            ? step_two(h, scale, f, covariance, z, x)
         : any_regular(covariance) ? step_three(h, scale, f, covariance, z, x)
                                   : step_plane(h, scale, f, covariance, z, x);
}

bool all_valid(std::size_t entries, const double* x) { return all_valid_of(entries * kLanes, x); }

bool any_reached(std::size_t rows, const double* values, const double* awaited) {
  return any_reached_of(rows * kLanes, values, awaited);
}

}  // namespace popflow
