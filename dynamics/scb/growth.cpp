#include "dynamics/scb/growth.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dynamics/scb/attention.hpp"
#include "dynamics/scb/value.hpp"
#include "popflow/math.hpp"

namespace popflow::scb {

namespace {

/// One signal while the other is fixed: dx/dt = gain - rate x.
struct Relaxation {
  double gain = 0, rate = 0;

  /// x after a time h, computed as a difference from x, which may be far smaller than gain/rate.
  [[nodiscard]] double after(double x, double h) const {
    return x - (gain - rate * x) * math::expm1(-rate * h) / rate;
  }
  /// Time in which x changes by the fraction `part`.
  [[nodiscard]] double time_of(double x, double part) const {
    const double way = std::abs(gain / rate - x);
    return way > part * x ? -math::log1p(-part * x / way) / rate
                          : std::numeric_limits<double>::infinity();
  }
};

}  // namespace

Growth::Growth(const Problem& problem, Variant variant) {
  const Transition transition(problem.P, problem.mu);
  const Columns columns(problem.Q, problem.mu, variant);
  uniform_ = columns.uniform();
  K_P_ = of_V_ = transition.K_P;
  kappa_ = of_A_ = columns.kappa();
  if (variant.inverse_frequency) return;
  of_V_ = transition.centred.colwise().squaredNorm().dot(problem.mu.cwiseAbs2());
  of_A_ = 0;
  for (Eigen::Index k = 0; k < columns.size(); ++k)
    of_A_ += problem.mu[k] * problem.mu[k] * columns.query(k).q_deviation2;
}

double Growth::rate() const { return std::sqrt(of_V_ * of_A_); }

double Growth::boost_time() const {
  constexpr double kEarly = 0.01;   // of the times at which the series' first terms are wrong
  constexpr double kChange = 0.02;  // relative change of a signal per step
  const double speed_V = of_V_ / K_P_;
  const double speed_A = of_A_ / kappa_ * K_P_;
  const double drift = speed_V * uniform_;
  double t =
      kEarly * std::min({1 / drift, 1 / rate(), math::pow(drift * drift * speed_A, -1.0 / 3)});
  double v = drift * t;
  double a = speed_A * drift * t * t / 2;
  // Solves each equation in turn exactly, with the other signal fixed. This stays stable if one
  // signal relaxes much faster than the other grows: with a small K_P, V is at its equilibrium from
  // T on, and the attention takes 1/(2 K_P).
  for (;;) {
    const auto of_V = [&] {
      return Relaxation{speed_V * (uniform_ + kappa_ * a), speed_V * (uniform_ + kappa_ * a * a)};
    };
    const auto of_A = [&] { return Relaxation{speed_A * v, speed_A * v * v}; };
    const double before = v * a;
    const double h = std::min(of_V().time_of(v, kChange), of_A().time_of(a, kChange));
    v = of_V().after(v, h / 2);
    a = of_A().after(a, h);
    v = of_V().after(v, h / 2);
    if (!(v * a < 0.5)) return t + h * (0.5 - before) / (v * a - before);
    t += h;
  }
}

}  // namespace popflow::scb
