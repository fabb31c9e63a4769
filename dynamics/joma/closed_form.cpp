#include "dynamics/joma/closed_form.hpp"

#include <cmath>
#include <limits>

#include "popflow/math.hpp"

namespace popflow::joma {

namespace {

/// y with erf(y) = `level`, |level| <= 1/2.
double inverse_erf(double level) {
  const double slope_at_0 = 2 / std::sqrt(M_PI);
  double y = level / slope_at_0;
  // The start is accurate to a tenth, and each of Newton's steps doubles the digits.
  for (int i = 0; i < 5; ++i) y -= (math::erf(y) - level) / (slope_at_0 * math::exp(-y * y));
  return y;
}

/// y with erfc(y) = `left`, 0 < left <= 1/2.
double inverse_erfc(double left) {
  // erfc(y) < e^(-y^2)/(y sqrt(pi)) gives a start within a fifth.
  const double above = std::sqrt(-math::log(left));
  double y = std::sqrt(-math::log(left * above * std::sqrt(M_PI)));
  // Applies Newton's method to the logarithm, which is nearly a parabola.
  for (int i = 0; i < 5; ++i) {
    const double here = math::erfc(y);
    y += math::log(here / left) * here / (2 / std::sqrt(M_PI) * math::exp(-y * y));
  }
  return y;
}

}  // namespace

double blow_up_time(const Attention& attention, const Line& line) {
  if (line.length == 0) return std::numeric_limits<double>::infinity();
  const double tau = attention.temperature;
  return math::exp(-attention.offset - line.across * attention.inverse()) * tau *
         std::sqrt(M_PI / 2) * math::erfc(line.along / (M_SQRT2 * tau)) / line.length;
}

double progress_at(const Attention& attention, const Line& line, double t) {
  if (attention.kind == Attention::Kind::linear) {
    // y = sqrt(C) sinh(length t + arsinh(along/sqrt(C))), with its change computed as a product; C
    // = 0: y = along exp(+-length t).
    const double C = line.across + attention.offset;
    if (line.length == 0) return t * std::sqrt(C);
    const double turn = line.length * t;
    if (C == 0) return line.along * math::expm1(line.along < 0 ? -turn : turn) / line.length;
    const double root = std::sqrt(C);
    return 2 * root * math::cosh(math::asinh(line.along / root) + 0.5 * turn) *
           math::sinh(0.5 * turn) / line.length;
  }
  const double rate = math::exp(attention.offset + line.across * attention.inverse());
  if (line.length == 0) return t * rate;
  const double unit = M_SQRT2 * attention.temperature;
  const double start = line.along / unit;
  const double way = rate * t * line.length / attention.temperature * std::sqrt(2 / M_PI);
  // erf(y) = erf(start) + way, inverted by the function that does not cancel.
  const double level = math::erf(start) + way;
  double y = 0;
  if (level > 0.5) {
    const double left = math::erfc(start) - way;
    if (!(left > 0)) return std::numeric_limits<double>::quiet_NaN();
    y = inverse_erfc(left);
  } else if (level < -0.5) {
    y = -inverse_erfc(math::erfc(-start) + way);
  } else {
    y = inverse_erf(level);
  }
  return (y - start) * unit / line.length;
}

}  // namespace popflow::joma
