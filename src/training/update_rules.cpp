#include "training/update_rules.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "popflow/error.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

// Each rule in one place, entry by entry: its discrete step, its flow, and a step of its SDE. g, f
// and noise point along the descent. `rate` is the factor on the entry's learning rate.
//
// The SDE: over a step of length h the mean of the gradients is f + noise/h, noise being
// sqrt(eta/B) C^(1/2) dW, and that of their squares f^2 + d + (2 f noise + sqrt(2 eta) d dW')/h
// with W' independent, as Gaussian gradients of variance d have it. Moments relax exactly, and come
// before x, which at h = eta is the discrete rule, but for squares that are Gaussian there. The
// noise of the squares is of the order of that of the gradients: without it u and m would not
// fluctuate together, and Adam's first steps, which are of size eta whatever the gradient, would
// scatter. As it is Gaussian, it can make u smaller than any gradients can: x is moved with the
// least u that they allow for.

/// Gradients of one entry over a step of an SDE.
struct Noisy {
  double f, d, noise;  ///< noise is that of the mean: already over h
  double squares;      ///< noise of the mean of squares beyond 2 f noise
  double part;         ///< h/eta
};

/// Sums of squares below 0 come from rounding of the integrator alone.
double root(double u) { return std::sqrt(u > 0 ? u : 0); }

struct Sgd {
  static void step(const RuleInstant& now, double rate, double g, double& x, double&, double&) {
    x += now.length * rate * g;
  }
  static void flow(const RuleInstant& now, double rate, double f, double, double, double,
                   double& dx, double&, double&) {
    dx = now.s * rate * f;
  }
  static void noisy_step(const RuleInstant& now, double rate, const Noisy& g, double& x, double&,
                         double&) {
    x += now.length * rate * (g.f + g.noise);
  }
};

/// Heavy ball. Its flow is off by O(eta) at a fixed beta.
struct Momentum {
  static void step(const RuleInstant& now, double rate, double g, double& x, double& m, double&) {
    m = now.of.beta1 * m + g;
    x += now.length * rate * m;
  }
  static void flow(const RuleInstant& now, double rate, double f, double, double m, double,
                   double& dx, double& dm, double&) {
    dm = now.kappa1 * (f / (1 - now.of.beta1) - m);
    dx = now.s * rate * m;
  }
  static void noisy_step(const RuleInstant& now, double rate, const Noisy& g, double& x, double& m,
                         double&) {
    m += now.relaxed1 * ((g.f + g.noise) / (1 - now.of.beta1) - m);
    x += now.length * rate * m;
  }
};

struct Nesterov {
  static void step(const RuleInstant& now, double rate, double g, double& x, double& m, double&) {
    m = now.of.beta1 * m + g;
    x += now.length * rate * (g + now.of.beta1 * m);
  }
  static void flow(const RuleInstant& now, double rate, double f, double d, double m, double u,
                   double& dx, double& dm, double& du) {
    Momentum::flow(now, rate, f, d, m, u, dx, dm, du);
    dx = now.s * rate * (f + now.of.beta1 * m);
  }
  static void noisy_step(const RuleInstant& now, double rate, const Noisy& g, double& x, double& m,
                         double&) {
    m += now.relaxed1 * ((g.f + g.noise) / (1 - now.of.beta1) - m);
    x += now.length * rate * (g.f + g.noise + now.of.beta1 * m);
  }
};

struct RmsProp {
  static void step(const RuleInstant& now, double rate, double g, double& x, double&, double& u) {
    u = now.of.beta2 * u + (1 - now.of.beta2) * g * g;
    x += now.length * rate * g / (std::sqrt(u) + now.of.epsilon);
  }
  static void flow(const RuleInstant& now, double rate, double f, double d, double, double u,
                   double& dx, double&, double& du) {
    du = now.kappa2 * (f * f + d - u);
    dx = now.s * rate * f / (root(u) + now.of.epsilon);
  }
  static void noisy_step(const RuleInstant& now, double rate, const Noisy& g, double& x, double&,
                         double& u) {
    u += now.relaxed2 * (g.f * g.f + g.d + 2 * g.f * g.noise + g.squares - u);
    const double mean = g.f + g.noise;
    const double least = now.relaxed2 * mean * mean * g.part;
    x += now.length * rate * mean / (root(std::max(u, least)) + now.of.epsilon);
  }
};

struct Adam {
  static void step(const RuleInstant& now, double rate, double g, double& x, double& m, double& u) {
    m = now.of.beta1 * m + (1 - now.of.beta1) * g;
    u = now.of.beta2 * u + (1 - now.of.beta2) * g * g;
    x +=
        now.length * rate * (m / now.corrected1) / (std::sqrt(u / now.corrected2) + now.of.epsilon);
  }
  static void flow(const RuleInstant& now, double rate, double f, double d, double m, double u,
                   double& dx, double& dm, double& du) {
    dm = now.kappa1 * (f - m);
    du = now.kappa2 * (f * f + d - u);
    const bool begun = now.corrected1 > 0;
    const double mean = begun ? m / now.corrected1 : f;
    const double square = begun ? u / now.corrected2 : f * f + d;
    dx = now.s * rate * mean / (root(square) + now.of.epsilon);
  }
  static void noisy_step(const RuleInstant& now, double rate, const Noisy& g, double& x, double& m,
                         double& u) {
    m += now.relaxed1 * (g.f + g.noise - m);
    u += now.relaxed2 * (g.f * g.f + g.d + 2 * g.f * g.noise + g.squares - u);
    const double least = m * m / now.bound;
    x += now.length * rate * (m / now.corrected1) /
         (root(std::max(u, least) / now.corrected2) + now.of.epsilon);
  }
};

// From entries to arrays.

double rate_of(std::span<const double> rates, std::size_t i) {
  return rates.empty() ? 1 : rates[i];
}

template <class Rule>
void step_all(const RuleInstant& now, std::span<const double> g, RuleArrays<double> to) {
  double none = 0;
  for (std::size_t i = 0; i < g.size(); ++i)
    Rule::step(now, rate_of(to.rates, i), g[i], to.x[i], to.m.empty() ? none : to.m[i],
               to.u.empty() ? none : to.u[i]);
}

template <class Rule>
void flow_of_all(const RuleInstant& now, std::span<const double> f, std::span<const double> d,
                 RuleArrays<const double> at, RuleArrays<double> derivative) {
  double none = 0;
  for (std::size_t i = 0; i < f.size(); ++i)
    Rule::flow(now, rate_of(at.rates, i), f[i], d.empty() ? 0 : d[i], at.m.empty() ? 0 : at.m[i],
               at.u.empty() ? 0 : at.u[i], derivative.x[i],
               derivative.m.empty() ? none : derivative.m[i],
               derivative.u.empty() ? none : derivative.u[i]);
}

template <class Rule>
void noisy_step_of_all(const RuleInstant& now, const NoisyGradients& g, RuleArrays<double> to) {
  double none = 0;
  // d dW' sqrt(2 eta) / h with dW' = sqrt(h) times a standard normal
  const double of_squares = std::sqrt(2 * now.of.learning_rate / g.h);
  for (std::size_t i = 0; i < g.f.size(); ++i) {
    const double d = g.d.empty() ? 0 : g.d[i];
    const double squares = g.squares.empty() ? 0 : of_squares * d * g.squares[i];
    Rule::noisy_step(now, rate_of(to.rates, i),
                     {g.f[i], d, g.noise[i] / g.h, squares, g.h / now.of.learning_rate}, to.x[i],
                     to.m.empty() ? none : to.m[i], to.u.empty() ? none : to.u[i]);
  }
}

// Limits of stability, by the characteristic polynomials of the steps along an eigenvector
// (docs/training.md derives them).

double limit_of_sgd(const RuleNumbers& /*of*/) { return 2; }
double limit_of_momentum(const RuleNumbers& of) { return 2 * (1 + of.beta1); }
double limit_of_nesterov(const RuleNumbers& of) { return 2 * (1 + of.beta1) / (1 + 2 * of.beta1); }
double limit_of_adam(const RuleNumbers& of) { return 2 * (1 + of.beta1) / (1 - of.beta1); }

/// A row with the formulas of a rule.
template <class Rule>
constexpr UpdateRule of(UpdateRule row) {
  row.step = step_all<Rule>;
  row.flow = flow_of_all<Rule>;
  row.noisy_step = noisy_step_of_all<Rule>;
  return row;
}

constexpr std::array kRules = {
    of<Sgd>({.name = "sgd",
             .meaning = "plain steps along the minibatch direction",
             .source = "Li, Tai, E 2017, arXiv 1511.06251",
             .stability = limit_of_sgd}),
    of<Momentum>({.name = "momentum",
                  .meaning = "heavy ball, with --momentum",
                  .source = "Polyak 1964; Li, Tai, E 2017, arXiv 1511.06251",
                  .has_m = true,
                  .stability = limit_of_momentum}),
    of<Nesterov>({.name = "nesterov",
                  .meaning = "Nesterov's, as PyTorch writes it",
                  .source = "Nesterov 1983; Sutskever et al. 2013",
                  .has_m = true,
                  .stability = limit_of_nesterov}),
    of<RmsProp>({.name = "rmsprop",
                 .meaning = "by the root of a mean of squares, with --beta2",
                 .source = "Tieleman, Hinton 2012",
                 .has_u = true,
                 .default_beta2 = 0.99,
                 .stability = limit_of_sgd}),
    of<Adam>({.name = "adam",
              .meaning = "both moments, their bias corrected",
              .source = "Kingma, Ba 2015, arXiv 1412.6980",
              .has_m = true,
              .has_u = true,
              .corrects_bias = true,
              .stability = limit_of_adam}),
    of<Adam>({.name = "adamw",
              .meaning = "adam, as AdamW is without weight decay",
              .source = "Loshchilov, Hutter 2019, arXiv 1711.05101",
              .has_m = true,
              .has_u = true,
              .corrects_bias = true,
              .stability = limit_of_adam}),
};

}  // namespace

std::span<const UpdateRule> update_rules() { return kRules; }

const UpdateRule& update_rule(std::string_view name) {
  for (const UpdateRule& rule : kRules)
    if (rule.name == name) return rule;
  throw UsageError("--optimizer is " + std::string(name) + "; it must be " +
                   text::one_of(names_of_rules([](const UpdateRule&) { return true; })));
}

}  // namespace popflow
