#include "dynamics/joma/closed_form.hpp"

#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <limits>

#include "popflow/math.hpp"

namespace popflow::joma {

double blow_up_time(const Attention& attention, const Line& line) {
  if (line.length == 0) return std::numeric_limits<double>::infinity();
  const double tau = attention.temperature;
  return math::exp(-attention.offset - line.across * attention.inverse()) * tau *
         std::sqrt(M_PI / 2) * boost::math::erfc(line.along / (M_SQRT2 * tau)) / line.length;
}

double progress_at(const Attention& attention, const Line& line, double t) {
  if (attention.kind == Attention::Kind::linear) {
    // y = sqrt(C) sinh(length t + arsinh(along/sqrt(C))), its change taken as a product; C = 0:
    // y = along exp(+-length t).
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
  // erf(y) = erf(start) + way, from the side where the inverse loses nothing.
  const double level = boost::math::erf(start) + way;
  double y = 0;
  if (level > 0.5) {
    const double left = boost::math::erfc(start) - way;
    if (!(left > 0)) return std::numeric_limits<double>::quiet_NaN();
    y = boost::math::erfc_inv(left);
  } else if (level < -0.5) {
    y = -boost::math::erfc_inv(boost::math::erfc(-start) + way);
  } else {
    y = boost::math::erf_inv(level);
  }
  return (y - start) * unit / line.length;
}

}  // namespace popflow::joma
