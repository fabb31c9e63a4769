#pragma once

#include <array>

namespace popflow {

/// The weights of a polynomial of degree five over a step (0 to 1), made of the states at its two
/// ends and the slopes at the ends and at two points within: value(part) = (1 - end) x(0) +
/// end x(1) + h sum_i slopes[i] f_i, the slopes in order of time.
struct ExtensionWeights {
  double end = 0;
  std::array<double, 4> slopes = {};
  /// The state there, by an entry's two ends and four slopes.
  [[nodiscard]] double state(double x, double x_new, double h,
                             const std::array<double, 4>& f) const {
    return (1 - end) * x + end * x_new +
           h * (slopes[0] * f[0] + slopes[1] * f[1] + slopes[2] * f[2] + slopes[3] * f[3]);
  }
};

/// Where that of dopri5 takes its inner slopes: near the ends the method's own extension errs
/// least.
inline constexpr std::array<double, 2> kDopri5Inner = {0.2, 0.8};

ExtensionWeights extension_weights(const std::array<double, 2>& inner, double part);

}  // namespace popflow
