#include "dynamics/joma/clock.hpp"

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <limits>

#include "dynamics/joma/exponential.hpp"

namespace popflow::joma {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr int kPoints = 10;

/// The integral of f over [low, high] by Gauss's rule with ten points in each of `panels` parts.
template <class F>
double integral(F&& f, double low, double high, int panels) {
  const auto& node = boost::math::quadrature::gauss<double, kPoints>::abscissa();
  const auto& weight = boost::math::quadrature::gauss<double, kPoints>::weights();
  const double half = 0.5 * (high - low) / panels;
  double sum = 0;
  for (int panel = 0; panel < panels; ++panel) {
    const double middle = low + (2 * panel + 1) * half;
    for (std::size_t i = 0; i < node.size(); ++i)
      sum += weight[i] * (f(middle + half * node[i]) + f(middle - half * node[i]));
  }
  return half * sum;
}

/// In x = e^{-s}, which falls from 1 to 0: integral of dx / (x g(x)) with 1/g = exp(-S/(2 tau^2)).
/// Below x = 1/2 the singularity at the target is split off: 1/(x g(0)) gives a logarithm, and what
/// is left is smooth.
double exponential_clock(const Attention& attention, const Line& line, double s) {
  const double factor = attention.inverse();
  const auto slowness = [&](double x) {
    const double y = line.along + line.length * (1 - x);
    return exponential(-(y * y + line.across) * factor);
  };
  // Panels of 2 tau: there ten points leave less than 1e-15 of a Gaussian. A way of more than
  // thousands of tau is one that rates held at highest_exponent cut short.
  const auto panels = [&](double low, double high) {
    const double way = (high - low) * line.length / (2 * attention.temperature);
    return static_cast<int>(std::clamp(std::ceil(way), 1.0, 1000.0));
  };
  const double now = std::exp(-s);
  const double half = 0.5;
  if (now >= half) {
    // From 1 - E = e^{-s}, with E = 1 - e^{-s} accurate near the start.
    const double E = -std::expm1(-s);
    const auto at = [&](double e) {
      const double y = line.along + line.length * e;
      return exponential(-(y * y + line.across) * factor) / (1 - e);
    };
    return integral(at, 0, E, panels(0, E));
  }
  const double at_target = slowness(0);
  return integral([&](double x) { return slowness(x) / x; }, half, 1, panels(half, 1)) +
         (s - std::log(2.0)) * at_target +
         integral([&](double x) { return (slowness(x) - at_target) / x; }, now, half,
                  panels(now, half));
}

/// With m the target on the line, C = across + c, R(u) = sqrt(u^2 + C):
///   integral du/((m - u) R(u)) = [ log N(u) - log|m - u| ] / R(m),  N(u) = C + m u + R(m) R(u)
double linear_clock(const Attention& attention, const Line& line, double s) {
  const double C = line.across + attention.offset;
  const double m = line.end();
  const double p = line.along;
  const double moved = -std::expm1(-s) * line.length;
  const double y = p + moved;
  const auto R = [&](double u) { return std::hypot(u, std::sqrt(C)); };
  if (p == 0 && C == 0) return kNone;                        // b = 0: it never starts
  if (m == 0 && C == 0) return std::expm1(s) / line.length;  // du/u^2
  const double Rm = R(m);
  const double first = C + m * p;
  const double last = C + m * y;
  // N(u) = C (m - u)^2 / D(u) with D(u) = R(m) R(u) - C - m u, for where N itself would cancel.
  const double rise = moved * (y + p) / (R(y) + R(p));  // R(y) - R(p)
  if (first >= 0) return (s + std::log1p((m * moved + Rm * rise) / (first + Rm * R(p)))) / Rm;
  if (last < 0) return (std::log1p((m * moved - Rm * rise) / (Rm * R(y) - last)) - s) / Rm;
  const double log_N_first = std::log(C) + 2 * std::log(line.length) - std::log(Rm * R(p) - first);
  return (s + std::log(last + Rm * R(y)) - log_N_first) / Rm;
}

}  // namespace

double clock_of(const Attention& attention, const Line& line, double progress) {
  if (line.length == 0 || std::isnan(progress)) return kNone;
  if (attention.kind == Attention::Kind::linear) return linear_clock(attention, line, progress);
  const double reach = std::max(line.along * line.along, line.end() * line.end()) + line.across;
  if (reach * attention.inverse() > attention.highest_exponent) return kNone;
  return exponential_clock(attention, line, progress);
}

}  // namespace popflow::joma
