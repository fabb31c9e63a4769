#include "dynamics/joma/clock.hpp"

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <limits>

#include "dynamics/joma/kernels.hpp"
#include "numerics/exponential.hpp"
#include "popflow/math.hpp"

namespace popflow::joma {
namespace {

constexpr int kPoints = 10;

/// Ten-point Gauss quadrature on [-1, 1].
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

// Panels of length 2 tau, for which ten points integrate a Gaussian to 1e-15. Distances beyond
// thousands of tau occur only if rates held at highest_exponent cut them short.
int panels_of(double width, double length, double tau) {
  return static_cast<int>(std::clamp(std::ceil(width * length / (2 * tau)), 1.0, 1000.0));
}

// Below x = 1/2 the singularity at the target is subtracted.
constexpr double kHalf = 0.5;

/// Whether the token's rates are never held, so that it may have a clock.
bool has_clock(const Attention& attention, const Line& line) {
  const double reach = std::max(line.along * line.along, line.end() * line.end()) + line.across;
  return !(reach * attention.inverse() > attention.highest_exponent);
}

/// 1/g = exp(-S/(2 tau^2)) on a token's line, at x = e^{-s}.
struct InverseRate {
  double factor;
  Line line;
  double tau;

  /// The integral of (1/g(x) - minus)/x over [low, low + width].
  [[nodiscard]] double integral(double low, double width, double minus) const {
    static const Rule rule;
    const int panels = panels_of(width, line.length, tau);
    const double half = 0.5 * width / panels;
    double sum = 0;
    for (int panel = 0; panel < panels; ++panel) {
      const double middle = low + (2 * panel + 1) * half;
      double x[kPoints];
      double value[kPoints];
      for (int i = 0; i < kPoints; ++i) x[i] = middle + half * rule.node[i];
      inverse_rates(kPoints, factor, line.along, line.length, line.across, x, value);
      for (int i = 0; i < kPoints; ++i) value[i] = rule.weight[i] * (value[i] - minus) / x[i];
      for (int i = 0; i < kPoints; ++i) sum += value[i];
    }
    return half * sum;
  }
};

/// Clock of exponential attention, in x = e^{-s}, which falls from 1 to 0: integral of dx / (x
/// g(x)). The singular part near the target, 1/(x g(0)), gives a logarithm, and the remainder is
/// smooth.
double exponential_clock(const Attention& attention, const Line& line, double s) {
  const InverseRate inverse_rate{attention.inverse(), line, attention.temperature};
  const double now = math::exp(-s);
  if (now >= kHalf) return inverse_rate.integral(now, -math::expm1(-s), 0);
  const double at_target =
      exponential(-(line.end() * line.end() + line.across) * inverse_rate.factor);
  return inverse_rate.integral(kHalf, kHalf, 0) + (s - math::log(2.0)) * at_target +
         inverse_rate.integral(now, kHalf - now, at_target);
}

/// Clock of linear attention. With m the target on the line, C = across + c, R(u) = sqrt(u^2 + C):
///   integral du/((m - u) R(u)) = [ log N(u) - log|m - u| ] / R(m),  N(u) = C + m u + R(m) R(u)
double linear_clock(const Attention& attention, const Line& line, double s) {
  const double C = line.across + attention.offset;
  const double m = line.end();
  const double p = line.along;
  const double moved = -math::expm1(-s) * line.length;
  const double y = p + moved;
  const auto R = [&](double u) { return math::hypot(u, std::sqrt(C)); };
  if (p == 0 && C == 0) return kNone;                         // b = 0: never starts
  if (m == 0 && C == 0) return math::expm1(s) / line.length;  // du/u^2
  const double Rm = R(m);
  const double first = C + m * p;
  const double last = C + m * y;
  // N(u) = C (m - u)^2 / D(u) with D(u) = R(m) R(u) - C - m u, used where N itself would cancel.
  const double rise = moved * (y + p) / (R(y) + R(p));  // R(y) - R(p)
  if (first >= 0) return (s + math::log1p((m * moved + Rm * rise) / (first + Rm * R(p)))) / Rm;
  if (last < 0) return (math::log1p((m * moved - Rm * rise) / (Rm * R(y) - last)) - s) / Rm;
  const double log_N_first =
      math::log(C) + 2 * math::log(line.length) - math::log(Rm * R(p) - first);
  return (s + math::log(last + Rm * R(y)) - log_N_first) / Rm;
}

}  // namespace

double clock_of(const Attention& attention, const Line& line, double progress) {
  if (line.length == 0 || std::isnan(progress)) return kNone;
  if (attention.kind == Attention::Kind::linear) return linear_clock(attention, line, progress);
  if (!has_clock(attention, line)) return kNone;
  return exponential_clock(attention, line, progress);
}

namespace {

/// Collects the panels of tokens, and adds their integrals to the clocks of these tokens.
class PanelList {
 public:
  PanelList(double factor, double tau, double* clocks)
      : factor_(factor), tau_(tau), clocks_(clocks) {}

  /// The integral of (1/g(x) - minus)/x over [low, low + width], of token i.
  void add(std::size_t i, const Line& line, double low, double width, double minus) {
    const int panels = panels_of(width, line.length, tau_);
    const double half = 0.5 * width / panels;
    for (int panel = 0; panel < panels; ++panel) {
      middle_[size_] = low + (2 * panel + 1) * half;
      half_[size_] = half;
      minus_[size_] = minus;
      along_[size_] = line.along;
      length_[size_] = line.length;
      across_[size_] = line.across;
      owner_[size_] = i;
      if (++size_ == kMost) integrate();
    }
  }

  void integrate() {
    static const Rule rule;
    double sums[kMost] = {};
    for (int i = 0; i < kPoints; ++i)
      add_inverse_rates(size_, factor_, rule.node[i], rule.weight[i],
                        {middle_, half_, minus_, along_, length_, across_}, sums);
    for (std::size_t i = 0; i < size_; ++i) clocks_[owner_[i]] += half_[i] * sums[i];
    size_ = 0;
  }

 private:
  static constexpr std::size_t kMost = 256;  // fits the first-level cache
  double factor_, tau_;
  double* clocks_;
  std::size_t size_ = 0;
  double middle_[kMost], half_[kMost], minus_[kMost];
  double along_[kMost], length_[kMost], across_[kMost];
  std::size_t owner_[kMost];
};

}  // namespace

void clocks_of(const Attention& attention, const Lines& lines, std::size_t first, std::size_t count,
               double* values) {
  if (attention.kind == Attention::Kind::linear) {
    for (std::size_t i = 0; i < count; ++i)
      values[i] = clock_of(attention, lines.at(first + i), values[i]);
    return;
  }
  const double factor = attention.inverse();
  double now[kStretch], way[kStretch], at_target[kStretch];
  for (std::size_t begin = 0; begin < count; begin += kStretch) {
    const std::size_t size = std::min(kStretch, count - begin);
    double* clock = values + begin;
    progress_fractions(size, clock, now, way);
    for (std::size_t i = 0; i < size; ++i) {
      const Line line = lines.at(first + begin + i);
      at_target[i] = line.end() * line.end() + line.across;
    }
    exponentials(size, -factor, 0, 0, at_target);
    PanelList panels(factor, attention.temperature, clock);
    for (std::size_t i = 0; i < size; ++i) {
      const Line line = lines.at(first + begin + i);
      const double s = clock[i];
      if (line.length == 0 || std::isnan(s) || !has_clock(attention, line)) {
        clock[i] = kNone;
      } else if (now[i] >= kHalf) {
        clock[i] = 0;
        panels.add(i, line, now[i], way[i], 0);
      } else {
        clock[i] = (s - math::log(2.0)) * at_target[i];
        panels.add(i, line, kHalf, kHalf, 0);
        panels.add(i, line, now[i], kHalf - now[i], at_target[i]);
      }
    }
    panels.integrate();
  }
}

}  // namespace popflow::joma
