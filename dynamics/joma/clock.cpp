#include "dynamics/joma/clock.hpp"

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <limits>

#include "dynamics/common/exponential.hpp"
#include "dynamics/joma/kernels.hpp"

namespace popflow::joma {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr int kPoints = 10;

/// Gauss's rule with ten points on [-1, 1], point by point.
struct Rule {
  double node[kPoints];
  double weight[kPoints];
  Rule() {
    const auto& half = boost::math::quadrature::gauss<double, kPoints>::abscissa();
    const auto& weights = boost::math::quadrature::gauss<double, kPoints>::weights();
    for (std::size_t i = 0; i < half.size(); ++i) {
      node[2 * i] = half[i];
      node[2 * i + 1] = -half[i];
      weight[2 * i] = weight[2 * i + 1] = weights[i];
    }
  }
};

/// 1/g = exp(-S/(2 tau^2)) on a token's line, at x = e^{-s}.
struct Slowness {
  double factor;
  Line line;
  double tau;

  /// The integral of (1/g(x) - minus)/x over [low, low + width].
  [[nodiscard]] double integral(double low, double width, double minus) const {
    static const Rule rule;
    // Panels of 2 tau: there ten points leave less than 1e-15 of a Gaussian. A way of more than
    // thousands of tau is one that rates held at highest_exponent cut short.
    const double way = width * line.length / (2 * tau);
    const int panels = static_cast<int>(std::clamp(std::ceil(way), 1.0, 1000.0));
    const double half = 0.5 * width / panels;
    double sum = 0;
    for (int panel = 0; panel < panels; ++panel) {
      const double middle = low + (2 * panel + 1) * half;
      double x[kPoints];
      double value[kPoints];
      for (int i = 0; i < kPoints; ++i) x[i] = middle + half * rule.node[i];
      slownesses(kPoints, factor, line.along, line.length, line.across, x, value);
      for (int i = 0; i < kPoints; ++i) value[i] = rule.weight[i] * (value[i] - minus) / x[i];
      for (int i = 0; i < kPoints; ++i) sum += value[i];
    }
    return half * sum;
  }
};

/// In x = e^{-s}, which falls from 1 to 0: integral of dx / (x g(x)). Below x = 1/2 the singularity
/// at the target is split off: 1/(x g(0)) gives a logarithm, and what is left is smooth.
double exponential_clock(const Attention& attention, const Line& line, double s) {
  const Slowness slowness{attention.inverse(), line, attention.temperature};
  constexpr double kHalf = 0.5;
  const double now = std::exp(-s);
  if (now >= kHalf) return slowness.integral(now, -std::expm1(-s), 0);
  const double at_target = exponential(-(line.end() * line.end() + line.across) * slowness.factor);
  return slowness.integral(kHalf, kHalf, 0) + (s - std::log(2.0)) * at_target +
         slowness.integral(now, kHalf - now, at_target);
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
