#pragma once

#include <bit>
#include <cstdint>
#include <numbers>

#include "popflow/math/number.hpp"

namespace popflow::math {

struct CosineAndSine {
  double cosine, sine;
};

/// Cosine and sine of u turns, 2 pi u, for |u| < 2^49: within 1e-16. Branch-free, so that loops
/// vectorise.
POPFLOW_MATH_INLINE CosineAndSine of_turn(double u) {
  // Splits the turn exactly into a number of quarters and at most an eighth on either side.
  const double shifted = 4 * u + kRound;
  const double x = 2 * std::numbers::pi * (u - 0.25 * (shifted - kRound));
  const std::uint64_t quarter = std::bit_cast<std::uint64_t>(shifted);
  // Taylor's polynomials, whose remainders are below 5e-17.
  const double z = x * x;
  double s = -1.0 / 1307674368000;
  s = s * z + 1.0 / 6227020800;
  s = s * z - 1.0 / 39916800;
  s = s * z + 1.0 / 362880;
  s = s * z - 1.0 / 5040;
  s = s * z + 1.0 / 120;
  s = s * z - 1.0 / 6;
  const double sine = x + x * (z * s);
  double c = 1.0 / 20922789888000;
  c = c * z - 1.0 / 87178291200;
  c = c * z + 1.0 / 479001600;
  c = c * z - 1.0 / 3628800;
  c = c * z + 1.0 / 40320;
  c = c * z - 1.0 / 720;
  c = c * z + 1.0 / 24;
  const double cosine = 1 - (0.5 * z - z * z * c);
  // After a quarter turn, the cosine is minus the sine, and the sine the cosine.
  const bool odd = (quarter & 1) != 0;
  const std::uint64_t sign_of_sine = (quarter & 2) << 62;
  const std::uint64_t sign_of_cosine = ((quarter + 1) & 2) << 62;
  const double along = odd ? sine : cosine;
  const double across = odd ? cosine : sine;
  return {std::bit_cast<double>(std::bit_cast<std::uint64_t>(along) ^ sign_of_cosine),
          std::bit_cast<double>(std::bit_cast<std::uint64_t>(across) ^ sign_of_sine)};
}

}  // namespace popflow::math
