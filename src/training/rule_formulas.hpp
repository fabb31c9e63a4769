#pragma once

#include <cmath>
#include <cstddef>
#include <span>

#include "popflow/math.hpp"
#include "popflow/pack.hpp"

namespace popflow {

/// Parameters of a training rule. `Number` is a double, or a Pack of several trajectories.
template <class Number>
struct RuleNumbers {
  Number learning_rate;  ///< eta, at s = 1
  Number beta1;          ///< decay rate of the first moment m
  Number beta2;          ///< decay rate of the second moment u
  Number epsilon;
  Number coupled;       ///< coupled weight decay, which is a part of the gradient
  Number decoupled;     ///< decoupled weight decay, which does not go through the rule
  Number steps_before;  ///< number of steps before the start that the moments include
  bool operator==(const RuleNumbers&) const = default;
};

/// Parameters of a rule at one time or step: all numbers that are the same for every entry.
template <class Number>
struct RuleInstant {
  RuleNumbers<Number> of;
  Number s;       ///< factor on the learning rate
  Number length;  ///< flow time of the step, times s
  Number kappa1;  ///< ln(1/beta1)/eta: rate at which m relaxes in flow time
  Number kappa2;  ///< ln(1/beta2)/eta: rate at which u relaxes in flow time
  /// Variance of beta1 m + (1 - beta1) g over that of g, where m averages with beta2 (Lion).
  Number mixed;
  Number relaxed1;  ///< 1 - beta1^(h/eta): fraction by which m relaxes in a step of an SDE
  Number relaxed2;  ///< 1 - beta2^(h/eta): fraction by which u relaxes in a step of an SDE
  /// 1 - beta2^((eta - h)/(2 eta)): fraction by which u relaxes between the end of a step of an SDE
  /// and that of the step of the discrete rule, on average
  Number later2;
  /// Largest possible m^2/u for any gradients, by the Cauchy-Schwarz inequality.
  Number bound;
  /// 1 - beta1^k, the bias correction by which m is divided; 0 before the first step.
  Number corrected1;
  Number corrected2;  ///< 1 - beta2^k, the bias correction of u
  Number ahead;       ///< length/corrected1, for discrete steps
  Number spread;      ///< corrected2^(-1/2), for discrete steps
};

/// Copies an instant into Packs: all trajectories, or all entries, of a Pack share it.
template <class Number>
POPFLOW_MATH_INLINE RuleInstant<Number> widened(const RuleInstant<double>& now) {
  const RuleNumbers<double>& of = now.of;
  return {
      {of.learning_rate, of.beta1, of.beta2, of.epsilon, of.coupled, of.decoupled, of.steps_before},
      now.s,
      now.length,
      now.kappa1,
      now.kappa2,
      now.mixed,
      now.relaxed1,
      now.relaxed2,
      now.later2,
      now.bound,
      now.corrected1,
      now.corrected2,
      now.ahead,
      now.spread};
}

/// Arrays of a rule, with one entry for each entry of the System's state. The pointer to a moment
/// that the rule does not have is never read.
template <class Number>
struct RuleArrays {
  Number *x, *m, *u;
};

/// Entries of a System, with the factors and offsets that a rule needs.
struct RuleEntries {
  std::size_t number = 0;
  std::span<const double> rates = {};  ///< factors on the learning rates of the entries; empty: 1
  std::span<const double> zero = {};   ///< value of each entry where its parameter is 0; empty: 0
};

/// Gradients over a step of an SDE, with one entry for each entry of the System's state.
template <class Number>
struct NoisyGradients {
  Number h;             ///< flow time of the step
  const Number* f;      ///< mean
  const Number* d;      ///< variance of the mean over a minibatch; null: 0
  const Number* noise;  ///< sqrt(eta/B) C^(1/2) dW
  /// Standard normals for the noise of squares; null if the rule needs none.
  const Number* squares;
};

namespace rules {

// Formulas of each rule for one entry: its discrete step, its flow, and a step of its SDE. g, f and
// noise point in the direction of descent. `rate` is the factor on the entry's learning rate.
//
// The SDE: over a step of length h the mean of the gradients is f + noise/h, where noise is
// sqrt(eta/B) C^(1/2) dW. The mean of their squares is f^2 + d + (2 f noise + sqrt(2 eta) d dW')/h
// with W' independent of W, as for Gaussian gradients of variance d. Moments relax exactly, and are
// updated before x. At h = eta a step of the SDE is a step of the discrete rule, except that the
// noise of the squares is Gaussian.
//
// The noise of the squares is of the same order as that of the gradients. Without this noise u and
// m would not fluctuate together, and the first steps of Adam, which have size eta for any
// gradient, would scatter. Gaussian noise can make u smaller than any gradients could. Therefore x
// moves with at least the smallest u that is possible for its m.

/// Gradient of one entry over a step of an SDE.
template <class Number>
struct Noisy {
  Number f, d, noise;  ///< noise: noise of the mean, already divided by h
  Number squares;      ///< noise of the mean of squares in addition to 2 f noise
  Number part;         ///< h/eta
};

/// Root of a second moment. A moment below 0 can only be a rounding error of the integrator and
/// counts as 0.
template <class Number>
POPFLOW_MATH_INLINE Number root(const Number& u) {
  using std::sqrt;
  return sqrt(math::select(u > 0, u, Number(0)));
}

/// Sign of g: 0 for 0 and NaN for NaN.
template <class Number>
POPFLOW_MATH_INLINE Number sign(const Number& g) {
  return math::select(g > 0, Number(1), math::select(g < 0, Number(-1), Number(g * 0)));
}

// kHasM and kHasU: whether a rule has a first and a second moment.

/// Plain SGD.
struct Sgd {
  static constexpr bool kHasM = false, kHasU = false;
  template <class N>
  static void step(const RuleInstant<N>& now, double rate, const N& g, N& x, N&, N&) {
    x += now.length * rate * g;
  }
  template <class N>
  static void flow(const RuleInstant<N>& now, double rate, const N& f, const N&, const N&, const N&,
                   N& dx, N&, N&) {
    dx = now.s * rate * f;
  }
  template <class N>
  static void noisy_step(const RuleInstant<N>& now, double rate, const Noisy<N>& g, N& x, N&, N&) {
    x += now.length * rate * (g.f + g.noise);
  }
};

/// Heavy ball. The error of its flow is O(eta) at a fixed beta.
struct Momentum {
  static constexpr bool kHasM = true, kHasU = false;
  template <class N>
  static void step(const RuleInstant<N>& now, double rate, const N& g, N& x, N& m, N&) {
    m = now.of.beta1 * m + g;
    x += now.length * rate * m;
  }
  template <class N>
  static void flow(const RuleInstant<N>& now, double rate, const N& f, const N&, const N& m,
                   const N&, N& dx, N& dm, N&) {
    dm = now.kappa1 * (f / (1 - now.of.beta1) - m);
    dx = now.s * rate * m;
  }
  template <class N>
  static void noisy_step(const RuleInstant<N>& now, double rate, const Noisy<N>& g, N& x, N& m,
                         N&) {
    m += now.relaxed1 * ((g.f + g.noise) / (1 - now.of.beta1) - m);
    x += now.length * rate * m;
  }
};

/// Nesterov's momentum, in the form of PyTorch.
struct Nesterov {
  static constexpr bool kHasM = true, kHasU = false;
  template <class N>
  static void step(const RuleInstant<N>& now, double rate, const N& g, N& x, N& m, N&) {
    m = now.of.beta1 * m + g;
    x += now.length * rate * (g + now.of.beta1 * m);
  }
  template <class N>
  static void flow(const RuleInstant<N>& now, double rate, const N& f, const N& d, const N& m,
                   const N& u, N& dx, N& dm, N& du) {
    Momentum::flow(now, rate, f, d, m, u, dx, dm, du);
    dx = now.s * rate * (f + now.of.beta1 * m);
  }
  template <class N>
  static void noisy_step(const RuleInstant<N>& now, double rate, const Noisy<N>& g, N& x, N& m,
                         N&) {
    m += now.relaxed1 * ((g.f + g.noise) / (1 - now.of.beta1) - m);
    x += now.length * rate * (g.f + g.noise + now.of.beta1 * m);
  }
};

/// Division of the gradient by the root of the mean of its squares.
struct RmsProp {
  static constexpr bool kHasM = false, kHasU = true;
  template <class N>
  static void step(const RuleInstant<N>& now, double rate, const N& g, N& x, N&, N& u) {
    u = now.of.beta2 * u + (1 - now.of.beta2) * g * g;
    x += now.length * rate * g / (root(u) + now.of.epsilon);
  }
  template <class N>
  static void flow(const RuleInstant<N>& now, double rate, const N& f, const N& d, const N&,
                   const N& u, N& dx, N&, N& du) {
    du = now.kappa2 * (f * f + d - u);
    dx = now.s * rate * f / (root(u) + now.of.epsilon);
  }
  // The discrete rule divides by a u that includes the step's own gradient. u begins at 0 without a
  // correction, so a step of the SDE that divided by the u of its own end would move by far too
  // much. It divides by the u expected half of the remaining step of length eta later.
  template <class N>
  static void noisy_step(const RuleInstant<N>& now, double rate, const Noisy<N>& g, N& x, N&,
                         N& u) {
    u += now.relaxed2 * (g.f * g.f + g.d + 2 * g.f * g.noise + g.squares - u);
    u = math::select(u > 0, u, N(0));  // squares have no negative mean
    const N mean = g.f + g.noise;
    const N least = now.relaxed2 * mean * mean * g.part;
    const N later = u + now.later2 * (g.f * g.f + g.d - u);
    x += now.length * rate * mean / (root(N(math::max(later, least))) + now.of.epsilon);
  }
};

/// Division of the gradient by the root of the sum of its squares. As in RmsProp, a step of the SDE
/// uses the u expected half of the remaining step later.
struct AdaGrad {
  static constexpr bool kHasM = false, kHasU = true;
  template <class N>
  static void step(const RuleInstant<N>& now, double rate, const N& g, N& x, N&, N& u) {
    u += g * g;
    x += now.length * rate * g / (root(u) + now.of.epsilon);
  }
  template <class N>
  static void flow(const RuleInstant<N>& now, double rate, const N& f, const N& d, const N&,
                   const N& u, N& dx, N&, N& du) {
    du = (f * f + d) / now.of.learning_rate;
    dx = now.s * rate * f / (root(u) + now.of.epsilon);
  }
  template <class N>
  static void noisy_step(const RuleInstant<N>& now, double rate, const Noisy<N>& g, N& x, N&,
                         N& u) {
    u += g.part * (g.f * g.f + g.d + 2 * g.f * g.noise + g.squares);
    const N mean = g.f + g.noise;
    const N divisor = divisor_of(now, g.part, N(g.f * g.f + g.d), N(mean * mean), u);
    x += now.length * rate * mean / divisor;
  }
  /// Bounds u from below and returns the number by which a step of the SDE divides. `squares` is
  /// the mean of the squared gradient, `square` that of the step's own gradient.
  template <class N>
  static N divisor_of(const RuleInstant<N>& now, const N& part, const N& squares, const N& square,
                      N& u) {
    u = math::select(u > 0, u, N(0));
    const N later = u + math::max(N(0.5 * (1 - part)), N(0)) * squares;
    return root(N(math::max(later, N(part * part * square)))) + now.of.epsilon;
  }
};

/// Adam, with or without bias correction (UpdateRule::corrects_bias).
struct Adam {
  static constexpr bool kHasM = true, kHasU = true;
  template <class N>
  static void step(const RuleInstant<N>& now, double rate, const N& g, N& x, N& m, N& u) {
    m = now.of.beta1 * m + (1 - now.of.beta1) * g;
    u = now.of.beta2 * u + (1 - now.of.beta2) * g * g;
    x += now.ahead * rate * m / (root(u) * now.spread + now.of.epsilon);
  }
  template <class N>
  static void flow(const RuleInstant<N>& now, double rate, const N& f, const N& d, const N& m,
                   const N& u, N& dx, N& dm, N& du) {
    dm = now.kappa1 * (f - m);
    du = now.kappa2 * (f * f + d - u);
    const auto begun = now.corrected1 > 0;
    const N mean = math::select(begun, N(m / now.corrected1), f);
    const N square = math::select(begun, N(u / now.corrected2), N(f * f + d));
    dx = now.s * rate * mean / (root(square) + now.of.epsilon);
  }
  template <class N>
  static void noisy_step(const RuleInstant<N>& now, double rate, const Noisy<N>& g, N& x, N& m,
                         N& u) {
    m += now.relaxed1 * (g.f + g.noise - m);
    u += now.relaxed2 * (g.f * g.f + g.d + 2 * g.f * g.noise + g.squares - u);
    const N least = m * m / now.bound;
    x += now.length * rate * (m / now.corrected1) /
         (root(N(math::max(u, least) / now.corrected2)) + now.of.epsilon);
  }
};

/// Sign descent. Its flow and its SDE assume Gaussian gradients, whose sign has the mean
/// erf(f/sqrt(2 d)).
struct SignSgd {
  static constexpr bool kHasM = false, kHasU = false;
  template <class N>
  static N mean_sign(const N& f, const N& d) {
    const N spread = root(N(2 * d));
    return math::select(spread > 0, math::erf(N(f / spread)), sign(f));
  }
  template <class N>
  static void step(const RuleInstant<N>& now, double rate, const N& g, N& x, N&, N&) {
    x += now.length * rate * sign(g);
  }
  template <class N>
  static void flow(const RuleInstant<N>& now, double rate, const N& f, const N& d, const N&,
                   const N&, N& dx, N&, N&) {
    dx = now.s * rate * mean_sign(f, d);
  }
  /// Adds sqrt(eta h) times the deviation of the sign of a Gaussian gradient from its mean, which
  /// has the covariance of the rule. At h = eta the step is the discrete rule.
  template <class N>
  static void noisy_step(const RuleInstant<N>& now, double rate, const Noisy<N>& g, N& x, N&, N&) {
    const N scale = root(g.part), mean = mean_sign(g.f, g.d);
    x += now.length * rate * (mean + (sign(N(g.f + scale * g.noise)) - mean) / scale);
  }
};

/// Sign of a mean of gradients that weights the last one more. Its flow and its SDE assume Gaussian
/// gradients, whose variance changes slowly.
struct Lion {
  static constexpr bool kHasM = true, kHasU = false;
  template <class N>
  static N mix(const RuleInstant<N>& now, const N& m, const N& g) {
    return now.of.beta1 * m + (1 - now.of.beta1) * g;
  }
  template <class N>
  static void step(const RuleInstant<N>& now, double rate, const N& g, N& x, N& m, N&) {
    x += now.length * rate * sign(mix(now, m, g));
    m = now.of.beta2 * m + (1 - now.of.beta2) * g;
  }
  template <class N>
  static void flow(const RuleInstant<N>& now, double rate, const N& f, const N& d, const N& m,
                   const N&, N& dx, N& dm, N&) {
    dm = now.kappa2 * (f - m);
    dx = now.s * rate * SignSgd::mean_sign(mix(now, m, f), N(now.mixed * d));
  }
  /// As SignSgd's, with the sign of m and the new gradient: m holds the fluctuation of the others.
  template <class N>
  static void noisy_step(const RuleInstant<N>& now, double rate, const Noisy<N>& g, N& x, N& m,
                         N&) {
    const N scale = root(g.part), weight = 1 - now.of.beta1;
    const N mean = SignSgd::mean_sign(mix(now, m, g.f), N(weight * weight * g.d));
    const N drawn = sign(mix(now, m, N(g.f + scale * g.noise)));
    x += now.length * rate * (mean + (drawn - mean) / scale);
    m += now.relaxed2 * (g.f + g.noise - m);
  }
};

/// One entry with the parts that all rules share: weight decay, and the factor on the learning
/// rate.
template <class N>
struct Entry {
  double rate;
  N theta;  ///< the parameter
  N g;      ///< gradient of a minibatch or its mean, with coupled decay
  Entry(const RuleInstant<N>& now, const RuleEntries& of, std::size_t i, const N& x, const N& plain)
      : rate(of.rates.empty() ? 1 : of.rates[i]),
        theta(of.zero.empty() ? x : N(x - of.zero[i])),
        g(plain - now.of.coupled * theta) {}
};

template <class Rule, class N>
void step_all(const RuleInstant<N>& now, const RuleEntries& of, const N* g, RuleArrays<N> to) {
  N none = 0;
  for (std::size_t i = 0; i < of.number; ++i) {
    const Entry<N> entry(now, of, i, to.x[i], g[i]);
    to.x[i] -= now.length * entry.rate * now.of.decoupled * entry.theta;
    Rule::step(now, entry.rate, entry.g, to.x[i], Rule::kHasM ? to.m[i] : none,
               Rule::kHasU ? to.u[i] : none);
  }
}

template <class Rule, class N>
void flow_of_all(const RuleInstant<N>& now, const RuleEntries& of, const N* f, const N* d,
                 RuleArrays<const N> at, RuleArrays<N> derivative) {
  const N zero = 0;
  N none = 0;
  for (std::size_t i = 0; i < of.number; ++i) {
    const Entry<N> entry(now, of, i, at.x[i], f[i]);
    N& dx = derivative.x[i];
    Rule::flow(now, entry.rate, entry.g, d != nullptr ? d[i] : zero, Rule::kHasM ? at.m[i] : zero,
               Rule::kHasU ? at.u[i] : zero, dx, Rule::kHasM ? derivative.m[i] : none,
               Rule::kHasU ? derivative.u[i] : none);
    dx -= now.s * entry.rate * now.of.decoupled * entry.theta;
  }
}

template <class Rule, class N>
void noisy_step_of_all(const RuleInstant<N>& now, const RuleEntries& of, const NoisyGradients<N>& g,
                       RuleArrays<N> to) {
  N none = 0;
  // Factor of the term sqrt(2 eta) d dW' / h, where dW' is sqrt(h) times a standard normal.
  const N of_squares = root(N(2 * now.of.learning_rate / g.h));
  for (std::size_t i = 0; i < of.number; ++i) {
    const Entry<N> entry(now, of, i, to.x[i], g.f[i]);
    const N d = g.d != nullptr ? g.d[i] : N(0);
    const N squares = g.squares != nullptr ? N(of_squares * d * g.squares[i]) : N(0);
    to.x[i] -= now.length * entry.rate * now.of.decoupled * entry.theta;
    Rule::noisy_step(
        now, entry.rate,
        Noisy<N>{entry.g, d, N(g.noise[i] / g.h), squares, N(g.h / now.of.learning_rate)}, to.x[i],
        Rule::kHasM ? to.m[i] : none, Rule::kHasU ? to.u[i] : none);
  }
}

}  // namespace rules

/// Computes the instants of a rule. Times are flow times.
template <class Number>
struct RuleClock {
  RuleNumbers<Number> of;
  bool corrects_bias = false;
  bool mixes = false;  ///< whether the rule needs RuleInstant::mixed

  /// Instant at time t of a flow, or at the end of a step of an SDE.
  [[nodiscard]] POPFLOW_MATH_INLINE RuleInstant<Number> at(const Number& t, const Number& s) const {
    RuleInstant<Number> now{};
    now.of = of;
    now.s = s;
    now.kappa1 = -math::log(of.beta1) / of.learning_rate;
    now.kappa2 = -math::log(of.beta2) / of.learning_rate;
    const Number steps = t / of.learning_rate;
    correct(now, steps);
    if (mixes) {
      const Number last = 1 - of.beta1, averaged = (1 - of.beta2) / (1 + of.beta2);
      const Number built = -math::expm1(2 * (steps + of.steps_before) * math::log(of.beta2));
      now.mixed = last * last + of.beta1 * of.beta1 * averaged * built;
    }
    return now;
  }
  /// Instant of step number k of the discrete rule, of length h.
  [[nodiscard]] POPFLOW_MATH_INLINE RuleInstant<Number> of_step(const Number& k, const Number& h,
                                                                const Number& s) const {
    RuleInstant<Number> now{};
    now.of = of;
    now.s = s;
    now.length = h * s;
    correct(now, k);
    now.ahead = now.length / now.corrected1;
    now.spread = 1 / math::sqrt(now.corrected2);
    return now;
  }
  /// Instant of a step of the SDE, of length h, that ends at time t.
  [[nodiscard]] POPFLOW_MATH_INLINE RuleInstant<Number> of_noisy_step(const Number& t,
                                                                      const Number& h,
                                                                      const Number& s) const {
    RuleInstant<Number> now = at(t, s);
    now.length = h * s;
    now.relaxed1 = -math::expm1(-now.kappa1 * h);
    now.relaxed2 = -math::expm1(-now.kappa2 * h);
    now.later2 = -math::expm1(-now.kappa2 * math::max(Number(of.learning_rate - h), Number(0)) / 2);
    const Number ratio = of.beta1 * of.beta1 / of.beta2,
                 steps = t / of.learning_rate + of.steps_before;
    const Number sum = -math::expm1(steps * math::log(ratio)) / (1 - ratio);
    const Number terms = math::select(ratio == 1, steps, sum);
    now.bound = (1 - of.beta1) * (1 - of.beta1) / (1 - of.beta2) * terms;
    return now;
  }

 private:
  POPFLOW_MATH_INLINE void correct(RuleInstant<Number>& now, const Number& own_steps) const {
    const Number steps = own_steps + of.steps_before;
    now.corrected1 = corrects_bias ? Number(-math::expm1(steps * math::log(of.beta1))) : Number(1);
    now.corrected2 = corrects_bias ? Number(-math::expm1(steps * math::log(of.beta2))) : Number(1);
  }
};

}  // namespace popflow
