#include "dynamics/scb/growth.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dynamics/scb/attention.hpp"
#include "dynamics/scb/value.hpp"

namespace popflow::scb {

namespace {

/// The equations of v = signal_V and a = signal_A,
///   dv/dt = of_V/K_P (1/T + kappa a - (1/T + kappa a^2) v),   da/dt = of_A/kappa K_P (v - v^2 a).
struct Growth {
  double uniform = 0;  ///< 1/T
  double K_P = 0, kappa = 0;
  double of_V = 0, of_A = 0;  ///< K_P and kappa with the preconditioner

  [[nodiscard]] double rate() const { return std::sqrt(of_V * of_A); }
};

Growth growth(const Problem& problem, Variant variant) {
  const Transition transition(problem.P, problem.mu);
  const Columns columns(problem.Q, problem.mu, variant);
  Growth g{columns.uniform(), transition.K_P, columns.kappa(), transition.K_P, columns.kappa()};
  if (variant.inverse_frequency) return g;
  g.of_V = transition.centred.colwise().squaredNorm().dot(problem.mu.cwiseAbs2());
  g.of_A = 0;
  for (Eigen::Index k = 0; k < columns.size(); ++k)
    g.of_A += problem.mu[k] * problem.mu[k] * columns.query(k).q_deviation2;
  return g;
}

/// One signal while the other is held: dx/dt = gain - rate x.
struct Relaxation {
  double gain = 0, rate = 0;

  /// x after a time h; a difference from x, which may be far smaller than gain/rate.
  [[nodiscard]] double after(double x, double h) const {
    return x - (gain - rate * x) * std::expm1(-rate * h) / rate;
  }
  /// The time in which x changes by the share `part`.
  [[nodiscard]] double time_of(double x, double part) const {
    const double way = std::abs(gain / rate - x);
    return way > part * x ? -std::log1p(-part * x / way) / rate
                          : std::numeric_limits<double>::infinity();
  }
};

}  // namespace

double growth_rate(const Problem& problem, Variant variant) {
  return growth(problem, variant).rate();
}

double boost_time(const Problem& problem, Variant variant) {
  constexpr double kEarly = 0.01;   // of the times in which the first terms of the series are wrong
  constexpr double kChange = 0.02;  // of a signal in a step
  const Growth g = growth(problem, variant);
  const double speed_V = g.of_V / g.K_P;
  const double speed_A = g.of_A / g.kappa * g.K_P;
  const double drift = speed_V * g.uniform;
  double t = kEarly * std::min({1 / drift, 1 / g.rate(), 1 / std::cbrt(drift * drift * speed_A)});
  double v = drift * t;
  double a = speed_A * drift * t * t / 2;
  // Each in turn by its exact solution, which stays stable where one relaxes in far less than the
  // time in which the other grows: with a small K_P, V is at its equilibrium from T on, and the
  // attention takes 1/(2 K_P).
  for (;;) {
    const auto of_V = [&] {
      return Relaxation{speed_V * (g.uniform + g.kappa * a),
                        speed_V * (g.uniform + g.kappa * a * a)};
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
