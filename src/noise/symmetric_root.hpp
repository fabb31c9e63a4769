#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

namespace popflow {

/// Symmetric root of a symmetric, positive semidefinite 2 x 2 matrix, which may be singular. By the
/// theorem of Cayley and Hamilton, R = (C + s I) / t with s = det R and t = tr R: s^2 = det C, t^2
/// = tr C + 2 s. A determinant at rounding level counts as 0; otherwise a direction without noise
/// would get noise of 1e-8. The error of R^2 is a few roundings of tr C.
inline Eigen::Matrix2d symmetric_root(const Eigen::Matrix2d& C) {
  const double product = C(0, 0) * C(1, 1);
  const double determinant = product - C(1, 0) * C(1, 0);
  constexpr double kRounding = 8 * std::numeric_limits<double>::epsilon();
  const double s = determinant > kRounding * product ? std::sqrt(determinant) : 0;
  const double t = std::sqrt(std::max(0.0, C.trace() + 2 * s));
  if (!(t > 0)) return Eigen::Matrix2d::Zero();
  return (C + s * Eigen::Matrix2d::Identity()) / t;
}

/// Symmetric root R of a symmetric, positive semidefinite 3 x 3 matrix C, which may be singular. By
/// the theorem of Cayley and Hamilton, R (C + i2 I) = i1 C + i3 I, where i1 = tr R, i2 and i3 = det
/// R are the invariants of R. Therefore R z = i1 z - (i1 i2 - i3) y where (C + i2 I) y = z.
///
/// The invariants satisfy i1^2 = tr C + 2 i2, i2^2 = e2 + 2 i3 i1 and i3^2 = det C, where e2 is the
/// sum of the principal 2 x 2 minors of C. The error of R^2 is a few roundings of tr C: eigenvalues
/// below kRounding tr C, including negative ones, count as 0 or as kRounding tr C.
///
/// Branch-free, so that the same code serves single matrices and SIMD lanes.
struct SymmetricRoot3 {
  static constexpr double kRounding = 64 * std::numeric_limits<double>::epsilon();

  /// C divided by its trace.
  double c00, c10, c11, c20, c21, c22;
  double scale;  ///< root of the trace of C
  double e2, i1, i2, i3;

  /// Takes the lower triangle of C, and computes the root as if the third eigenvalue of C were 0.
  /// If `i3` is 0, the result is complete; otherwise call complete().
  static SymmetricRoot3 of(double c00, double c10, double c11, double c20, double c21, double c22) {
    // A non-finite C gives NaN.
    const double trace = c00 + c11 + c22;
    const double by = trace <= std::numeric_limits<double>::min() ? 0 : 1 / trace;
    SymmetricRoot3 r{};
    r.c00 = by * c00;
    r.c10 = by * c10;
    r.c11 = by * c11;
    r.c20 = by * c20;
    r.c21 = by * c21;
    r.c22 = by * c22;
    r.scale = std::sqrt(by == 0 ? 0 : trace);
    const double minors = (r.c00 * r.c11 - r.c10 * r.c10) + (r.c00 * r.c22 - r.c20 * r.c20) +
                          (r.c11 * r.c22 - r.c21 * r.c21);
    r.e2 = minors <= kRounding ? kRounding : minors;
    r.i2 = std::sqrt(r.e2);
    r.i1 = std::sqrt(1 + 2 * r.i2);
    r.i3 = r.root_of_determinant();
    return r;
  }

  /// Solves for i1 by Newton's method, run to convergence. The starting value ignores i3. If i3 is
  /// 0 the starting value is exact, so that such a root has the same bits with and without this
  /// call.
  void complete() {
    for (int k = 0; k < 4; ++k) {
      const double second = std::sqrt(e2 + 2 * i3 * i1);
      const double first = std::sqrt(1 + 2 * second);
      i1 += (first - i1) / (1 - i3 / (second * first));
    }
    i2 = std::sqrt(e2 + 2 * i3 * i1);
  }

  struct Vector {
    double at0, at1, at2;
  };
  /// Returns a R z.
  [[nodiscard]] Vector times(double a, double z0, double z1, double z2) const {
    const double d0 = 1 / (c00 + i2);
    const double l10 = c10 * d0;
    const double l20 = c20 * d0;
    const double d1 = 1 / (c11 + i2 - l10 * c10);
    const double m21 = c21 - l10 * c20;
    const double l21 = m21 * d1;
    const double d2 = 1 / (c22 + i2 - l20 * c20 - l21 * m21);
    const double w1 = z1 - l10 * z0;
    const double w2 = z2 - l20 * z0 - l21 * w1;
    const double y2 = w2 * d2;
    const double y1 = w1 * d1 - l21 * y2;
    const double y0 = z0 * d0 - l10 * y1 - l20 * y2;
    const double to = a * scale * i1;
    const double from = a * scale * (i1 * i2 - i3);
    return {to * z0 - from * y0, to * z1 - from * y1, to * z2 - from * y2};
  }

 private:
  /// Eliminates the largest diagonal entry first, which is at least a third of the trace. This
  /// keeps the product of small eigenvalues accurate.
  [[nodiscard]] double root_of_determinant() const {
    const bool first = c00 >= c11 && c00 >= c22;
    const bool second = c11 >= c22;
    const double largest = first ? c00 : (second ? c11 : c22);
    const double pivot = largest > 0.25 ? largest : 0.25;
    const double a = first ? c10 : (second ? c10 : c20);
    const double b = first ? c20 : c21;
    const double d = first ? c11 : c00;
    const double f = first ? c22 : (second ? c22 : c11);
    const double g = first ? c21 : (second ? c20 : c10);
    const double by = 1 / pivot;
    const double s11 = d - a * a * by;
    const double s21 = g - a * b * by;
    const double s22 = f - b * b * by;
    const double rest = s11 * s22 - s21 * s21;
    const double noise = kRounding * (std::abs(s11) + std::abs(s22));
    return std::sqrt(pivot * (rest > noise ? rest : 0));
  }
};

/// Returns R z for the symmetric root R of C.
inline Eigen::Vector3d symmetric_root_times(const Eigen::Matrix3d& C, const Eigen::Vector3d& z) {
  SymmetricRoot3 root = SymmetricRoot3::of(C(0, 0), C(1, 0), C(1, 1), C(2, 0), C(2, 1), C(2, 2));
  if (root.i3 > 0) root.complete();
  const auto [x0, x1, x2] = root.times(1, z[0], z[1], z[2]);
  return {x0, x1, x2};
}

}  // namespace popflow
