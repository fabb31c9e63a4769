#include "dynamics/markov/landscape.hpp"

#include <cmath>
#include <limits>

#include "dynamics/markov/bernoulli.hpp"
#include "numerics/newton_root.hpp"
#include "popflow/math.hpp"

namespace popflow::markov {

namespace {

double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

/// 2w^2 - 1, rounded once.
double beyond_saddle(double w) { return std::fma(2 * w, w, -1); }

/// w^2 - log|w| above its minimum at w^2 = 1/2; equal to (z - log(1 + z))/2 with z = 2w^2 - 1.
double well(double w) {
  const double z = beyond_saddle(w);
  if (z > -0.5) return -log1p_minus(z) / 2;
  return (z - math::log(2.0)) / 2 - math::log(std::abs(w));  // 1 + z loses digits at small w
}

/// The start's level line of the energy, parametrised by eta = log(w / w0), w0 not 0.
class LevelLine {
 public:
  LevelLine(double e, double w) : e_(e), w_(w) {}
  [[nodiscard]] double w(double eta) const { return w_ * math::exp(eta); }
  /// e^2 and its derivative with respect to eta; negative where the line does not exist.
  [[nodiscard]] ValueAndSlope ee(double eta) const { return ee_by(math::expm1(eta), eta); }
  [[nodiscard]] ValueAndSlope slope(double eta) const {
    const double growth = math::expm1(eta);
    const ValueAndSlope ee = ee_by(growth, eta);
    const double w = grown(growth);
    const double ww = 2 * w * std::abs(w);
    return {ee.value * (1 + ww), ee.slope * (1 + ww) + ee.value * 2 * ww};
  }
  [[nodiscard]] LimitPoint point(double eta) const {
    return {std::copysign(std::sqrt(std::fmax(ee(eta).value, 0)), e_), w(eta)};
  }
  /// eta of w = -1/sqrt 2, for negative w.
  [[nodiscard]] double eta_of_saddle() const {
    return -math::log(2.0) / 2 - math::log(std::abs(w_));
  }

 private:
  /// w for a given growth w/w0 - 1; the growth keeps all digits that matter next to w0 or 1.
  [[nodiscard]] double grown(double growth) const { return w_ * (1 + growth); }
  [[nodiscard]] ValueAndSlope ee_by(double growth, double eta) const {
    const double w = grown(growth);
    return {e_ * e_ + w_ * growth * (w + w_) + sign(w_) * eta, 2 * w * w + sign(w_)};
  }

  double e_, w_;
};

/// Root between 0, where the value is `at_0`, and `end`.
template <class F>
double root(F&& f, double at_0, double end) {
  const double at_end = f(end).value;
  if (at_end == 0) return end;
  const bool above = at_0 > 0;
  if (above == (at_end > 0))
    // Without a change of sign, because of rounding, one end is the root.
    return std::abs(at_0) < std::abs(at_end) ? 0 : end;
  return newton_root(f, 0, end, above, 0);
}

/// eta at which the line reaches e = 0 in the direction of the flow; for w < 0, before the saddle.
double eta_of_line(const LevelLine& line, double e, double w) {
  const double end = w > 0 ? -e * e : line.eta_of_saddle();
  return root([&](double eta) { return line.ee(eta); }, e * e, end);
}

/// eta at which the line crosses the curve of global minima. The slope changes monotonically along
/// the line.
double eta_of_minimum(const LevelLine& line, const Chain& chain, double e, double w) {
  const double best = chain.best_slope;
  const auto excess = [&](double eta) {
    const ValueAndSlope slope = line.slope(eta);
    return ValueAndSlope{slope.value - best, slope.slope};
  };
  const double start = excess(0).value;
  if (start == 0) return 0;
  // dw/dt = -4|w| e^2 g_1, and g_1 has the sign of s - s*.
  const double direction = -sign(start) * sign(w);
  double end = direction;
  if (w > 0 && start > 0)
    end = -e * e;  // e = 0 is reached before this
  else if (w < 0 && (best > 0) == (start > 0) && std::abs(line.slope(0).value) > std::abs(best))
    end = line.eta_of_saddle();  // s = 0 at the saddle's w
  else
    while ((excess(end).value > 0) == (start > 0) && std::abs(end) < 1e6) end *= 2;
  return root(excess, start, end);
}

}  // namespace

std::string word(Limit limit) {
  switch (limit) {
    case Limit::global:
      return "global";
    case Limit::local:
      return "local";
    case Limit::saddle:
      return "saddle";
    case Limit::maximum:
      break;
  }
  return "maximum";
}

double energy(double e, double w) {
  if (w == 0) return std::numeric_limits<double>::quiet_NaN();
  return e * e - w * w - sign(w) * math::log(std::abs(w));
}

double energy_above_saddle(double e, double w) { return e * e - well(w); }

double separation(double e, double w) {
  const double sum = e * e + well(w);
  return sum > 0 ? energy_above_saddle(e, w) / sum : 0;
}

bool line_attracts(const Chain& chain, double w) {
  const double side = w < 0 ? -beyond_saddle(w) : 1;  // the factor 1 + 2w|w|
  return chain.correlation * side < 0;
}

Limit limit_of(const Chain& chain, double e, double w) {
  constexpr double kRounding = 4 * std::numeric_limits<double>::epsilon();
  if (chain.independent()) return Limit::global;
  const bool attracts = line_attracts(chain, w);
  if (e == 0) {
    if (w < 0 && std::abs(beyond_saddle(w)) <= kRounding) return Limit::saddle;
    return attracts ? Limit::local : Limit::maximum;
  }
  if (w < 0) {
    const double side = separation(e, w);
    if (side > kRounding) return Limit::global;
    if (side >= -kRounding && attracts) return Limit::saddle;
  }
  return attracts ? Limit::local : Limit::global;
}

LimitPoint limit_point(const Chain& chain, Limit limit, double e, double w) {
  if (e == 0) return {e, w};
  if (limit == Limit::saddle) return {0, -std::sqrt(0.5)};
  const bool to_line = limit == Limit::local || chain.independent();
  if (w == 0) return {to_line ? 0 : std::copysign(std::sqrt(chain.best_slope), e), 0};
  const LevelLine line(e, w);
  if (chain.independent() && w < 0 && energy_above_saddle(e, w) >= 0)
    return {std::copysign(std::sqrt(energy_above_saddle(e, w)), e), -std::sqrt(0.5)};
  if (to_line) return {0, line.w(eta_of_line(line, e, w))};
  return line.point(eta_of_minimum(line, chain, e, w));
}

double final_rate(const Chain& chain, Limit limit, const LimitPoint& point) {
  const double e = point.e;
  const double w = point.w;
  const double k = 1 + 2 * w * std::abs(w);
  switch (limit) {
    case Limit::local:
      return 2 * std::abs(chain.slope_at_line * k);
    case Limit::global: {
      // Across the curve of minima the rate is the curvature times |grad s|^2.
      const double by_e = 2 * e * k;
      const double by_w = 4 * e * e * w;
      return model_pairs(chain, chain.best_slope).curvature * (by_e * by_e + by_w * by_w);
    }
    default:
      return 0;
  }
}

}  // namespace popflow::markov
