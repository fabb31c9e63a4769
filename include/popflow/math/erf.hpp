#pragma once

#include <cmath>

#include "popflow/math/exp.hpp"
#include "popflow/math/pow.hpp"

namespace popflow::math {

/// erf(x)/x - 1 for x^2 = z <= 1, minimax to 2^-62. The last two steps keep the rounding errors of
/// their sums and products.
inline TwoTerms<double> erf_factor(double z) {
  double sum = 5.960686654847133516e-11;
  sum = sum * z - 1.137495578977803502e-09;
  sum = sum * z + 1.46603285252813572e-08;
  sum = sum * z - 1.635039615814245084e-07;
  sum = sum * z + 1.646100846796313992e-06;
  sum = sum * z - 1.492559577130806407e-05;
  sum = sum * z + 0.0001205533113290754036;
  sum = sum * z - 0.0008548326981423858386;
  sum = sum * z + 0.005223977624828394194;
  sum = sum * z - 0.02686617064507787131;
  sum = sum * z + 0.1128379167095488467;
  const TwoTerms<double> inner = exact_product(sum, z);
  const TwoTerms<double> slope = ordered_sum(-0.3761263890318374825, inner.high);
  const TwoTerms<double> part = exact_product(slope.high, z);
  constexpr double kAtZero = 0.1283791670955125863;
  const double whole = kAtZero + part.high;
  // Rounding error of the sum, whichever of the two is larger (Knuth).
  const double back = whole - kAtZero;
  const double left = (kAtZero - (whole - back)) + (part.high - back);
  return {whole, left + (part.low + (slope.low + inner.low) * z)};
}

/// erfc(x) for 1 <= x: e^(-x^2) times a polynomial in t = 1/(x + 4), minimax to 2^-58.
inline double erfc_of_large(double x) {
  if (x > 27.3) return 0;
  struct Piece {
    double middle;
    double left;              ///< remainder of the last coefficient beyond its double
    double coefficients[14];  ///< highest first
  };
  static constexpr Piece kPieces[] = {
      // x up to 2, relative error 2^-64.7
      {0.18333333333333332,
       -2.2314e-17,
       {0.0, 2448231.6561468793, -609150.677683366, -599155.066846329, -74591.1429274078,
        92235.01563807948, 68062.55438971496, 27166.878252807044, 7759.326930227516,
        1718.9188632968771, 305.00261905325095, 43.823164699944385, 5.080313873752671,
        0.3291833094706379}},
      // x up to 4, relative error 2^-60.0
      {0.14583333333333334,
       -1.35952e-17,
       {0.0, -723979.5521026327, -978785.1128106843, -217982.4241184651, 83352.66024590873,
        86626.02312822564, 39892.79454001274, 13040.0298175777, 3376.0208067367366,
        724.6133163167268, 131.94520173469198, 20.6291364858521, 2.7836021259104595,
        0.18710637671147073}},
      // x up to 8, relative error 2^-60.5
      {0.10416666666666667,
       -1.54705e-18,
       {0.0, -1387251.630239312, -295785.19323120586, 87219.9797588203, 99060.34071749408,
        48418.273980703954, 17246.347574563093, 5023.302211015061, 1255.8690143620631,
        276.642830722583, 54.562126080734885, 9.738210994589329, 1.5844235214910956,
        0.09921313139225198}},
      // x up to 28, relative error 2^-60.3
      {0.057291666666666664,
       -3.00108e-18,
       {-1299397.6214130784, -155126.56828215803, 122275.45302438663, 99468.04032881028,
        47024.83270805255, 17509.348782001878, 5592.628623004596, 1593.3180763826945,
        413.926109147474, 99.4568535082815, 22.321582844129146, 4.713588603512359,
        0.9417586771220603, 0.04181813511888194}},
  };
  const Piece& piece = kPieces[x < 2 ? 0 : x < 4 ? 1 : x < 8 ? 2 : 3];
  // 1/(x + 4), with the rounding errors of its sum and its quotient.
  const double below = x + 4;
  const double below_left = x < 4 ? (4 - below) + x : (x - below) + 4;
  const double inverse = 1 / below;
  const TwoTerms<double> back = exact_product(inverse, below);
  const double left = ((1 - back.high) - back.low) - inverse * below_left;
  const double t = (inverse - piece.middle) + inverse * left;
  double sum = 0;
  double rise = 0;  // polynomial in t
  for (const double coefficient : piece.coefficients) {
    rise = sum * t;
    sum = rise + coefficient;
  }
  const double left_of_sum = (piece.coefficients[13] - (sum - rise)) + piece.left;
  const TwoTerms<double> square = exact_product(x, x);
  // e^left = 1 + left, to first order.
  return exp_of_two({-square.high, left_of_sum / sum - square.low}, sum);
}

/// erf(x) within 1 unit in the last place.
inline double erf(double x) {
  const double size = magnitude(x);
  if (size <= 1) {
    // The product would lose digits of the smallest numbers.
    if (size < 0x1p-1000) return (x * 0x1p100 + x * 0x1p100 * 0.1283791670955125863) * 0x1p-100;
    const TwoTerms<double> factor = erf_factor(x * x);
    const TwoTerms<double> part = exact_product(x, factor.high);
    const TwoTerms<double> sum = ordered_sum(x, part.high);
    return sum.high + (sum.low + (part.low + x * factor.low));
  }
  if (!(size < 6)) return std::isnan(x) ? x : with_sign(1, x);
  return with_sign(1 - erfc_of_large(size), x);
}

/// erfc(x) = 1 - erf(x) within 4 units in the last place.
inline double erfc(double x) {
  if (std::isnan(x)) return x;
  if (x > 1) return erfc_of_large(x);
  if (x < -1) return x < -6 ? 2 : 2 - erfc_of_large(-x);
  const double rest = 1 - x;
  const TwoTerms<double> factor = erf_factor(x * x);
  const TwoTerms<double> part = exact_product(x, factor.high);
  return (rest - part.high) + (((1 - rest) - x) - (part.low + x * factor.low));
}

}  // namespace popflow::math
