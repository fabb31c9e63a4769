#include "training/whole_rule.hpp"

#include <algorithm>
#include <cmath>

#include "numerics/polar_factor.hpp"
#include "popflow/math.hpp"
#include "training/moment_fields.hpp"

namespace popflow {

namespace {

double squared_norm(std::span<const double> g) {
  double sum = 0;
  for (const double entry : g) sum += entry * entry;
  return sum;
}

void scale(std::span<double> g, double factor) {
  for (double& entry : g) entry *= factor;
}

}  // namespace

WholeRule::WholeRule(const TrainingPlan& plan, const System& system)
    : rule_(*plan.rule),
      clip_norm_(plan.clip_norm),
      momentum_(plan.momentum),
      rate_of_momentum_(-math::log(plan.momentum) / plan.numbers.learning_rate),
      by_newton_schulz_(plan.by_newton_schulz) {
  if (rule_.whole != Whole::orthogonal) return;
  std::size_t first = 0;
  for (const StateBlock& block : system.shape().blocks) {
    parts_.push_back({first, block.size, matrix_of(system, block, first)});
    first += block.size;
  }
}

RuleEntries WholeRule::Part::of(const RuleEntries& all) const {
  const auto some = [&](std::span<const double> numbers) {
    return numbers.empty() ? numbers : numbers.subspan(first, size);
  };
  return {size, some(all.rates), some(all.zero)};
}

void WholeRule::clip(std::span<double> g) const {
  if (clip_norm_ == 0) return;
  const double norm = std::sqrt(squared_norm(g));
  if (norm > clip_norm_) scale(g, clip_norm_ / norm);
}

void WholeRule::decay(RuleInstant<double>& now, const RuleEntries& of, const double* x,
                      std::span<double> g) {
  if (now.of.coupled == 0) return;
  for (std::size_t i = 0; i < g.size(); ++i)
    g[i] -= now.of.coupled * (of.zero.empty() ? x[i] : x[i] - of.zero[i]);
  now.of.coupled = 0;
}

void WholeRule::write_direction(const Part& part, const double* m, const double* otherwise,
                                std::vector<double>& direction) const {
  const MatrixBlock& matrix = part.matrix;
  const Eigen::Index size = matrix.rows * matrix.columns;
  const auto place = [&](Eigen::Index i) {
    return matrix.places.empty() ? static_cast<std::size_t>(i)
                                 : matrix.places[static_cast<std::size_t>(i)];
  };
  direction.assign(part.size, 0.0);
  Eigen::MatrixXd a(matrix.rows, matrix.columns);
  for (Eigen::Index first = 0; first < matrix.number * size; first += size) {
    const auto take = [&](const double* from) {
      for (Eigen::Index i = 0; i < size; ++i) {
        const std::size_t at = place(first + i);
        a(i / a.cols(), i % a.cols()) = at == MomentField::kFixed ? 0 : from[at];
      }
    };
    take(m);
    if (a.isZero(0)) take(otherwise);
    if (by_newton_schulz_)
      take_newton_schulz(a);
    else
      take_polar_factor(a);
    for (Eigen::Index i = 0; i < size; ++i)
      if (const std::size_t at = place(first + i); at != MomentField::kFixed)
        direction[at] = a(i / a.cols(), i % a.cols());
  }
}

void WholeRule::step(RuleInstant<double> now, const RuleEntries& of, std::span<double> g,
                     RuleArrays<double> to) const {
  clip(g);
  if (rule_.whole == Whole::none) return rule_.step(now, of, g.data(), to);
  decay(now, of, to.x, g);
  if (rule_.whole == Whole::orthogonal) {
    std::vector<double> direction;
    for (const Part& part : parts_) {
      const RuleArrays<double> own = part.of(to);
      if (part.matrix.number == 0) {
        rule_.step(now, part.of(of), g.data() + part.first, own);
        continue;
      }
      for (std::size_t i = 0; i < part.size; ++i)
        own.m[i] = momentum_ * own.m[i] + g[part.first + i];
      write_direction(part, own.m, own.m, direction);
      rules::step_all<rules::Sgd>(now, part.of(of), direction.data(), own);
    }
    return;
  }
  const double square = squared_norm(g);
  if (rule_.whole == Whole::unit_length && square > 0) scale(g, 1 / std::sqrt(square));
  if (rule_.whole == Whole::sum_of_norms) {
    double& u = *to.m;
    u += square;
    scale(g, 1 / (rules::root(u) + now.of.epsilon));
  }
  rule_.step(now, of, g.data(), to);
}

void WholeRule::flow(RuleInstant<double> now, const RuleEntries& of, std::span<double> f,
                     const double* d, RuleArrays<const double> at,
                     RuleArrays<double> derivative) const {
  clip(f);
  if (rule_.whole == Whole::none) return rule_.flow(now, of, f.data(), d, at, derivative);
  decay(now, of, at.x, f);
  if (rule_.whole == Whole::orthogonal) {
    std::vector<double> direction;
    for (const Part& part : parts_) {
      const RuleArrays<const double> from = part.of(at);
      const RuleArrays<double> own = part.of(derivative);
      const double* const mean = f.data() + part.first;
      if (part.matrix.number == 0) {
        rule_.flow(now, part.of(of), mean, d != nullptr ? d + part.first : d, from, own);
        continue;
      }
      for (std::size_t i = 0; i < part.size; ++i) {
        own.m[i] = rate_of_momentum_ * (mean[i] / (1 - momentum_) - from.m[i]);
        own.u[i] = 0;
      }
      write_direction(part, from.m, mean, direction);
      rules::flow_of_all<rules::Sgd>(now, part.of(of), direction.data(),
                                     static_cast<const double*>(nullptr), from, own);
    }
    return;
  }
  double square = squared_norm(f);
  if (rule_.whole == Whole::unit_length && square > 0) scale(f, 1 / std::sqrt(square));
  if (rule_.whole == Whole::sum_of_norms) {
    scale(f, 1 / (rules::root(*at.m) + now.of.epsilon));
    for (std::size_t i = 0; d != nullptr && i < f.size(); ++i) square += d[i];
    *derivative.m = square / now.of.learning_rate;
  }
  rule_.flow(now, of, f.data(), nullptr, at, derivative);
}

void WholeRule::noisy_step(RuleInstant<double> now, const RuleEntries& of,
                           const NoisyGradients<double>& g, RuleArrays<double> to) const {
  std::vector<double> f(g.f, g.f + of.number), noise(g.noise, g.noise + of.number), direction;
  decay(now, of, to.x, f);
  const double part_of_step = g.h / now.of.learning_rate;
  if (rule_.whole == Whole::orthogonal) {
    const double relaxed = -math::expm1(-rate_of_momentum_ * g.h);
    for (const Part& part : parts_) {
      const RuleArrays<double> own = part.of(to);
      const auto from = [&](const double* all) { return all != nullptr ? all + part.first : all; };
      if (part.matrix.number == 0) {
        rule_.noisy_step(now, part.of(of),
                         {g.h, from(f.data()), from(g.d), from(g.noise), from(g.squares)}, own);
        continue;
      }
      for (std::size_t i = 0; i < part.size; ++i) {
        const double mean = f[part.first + i] + noise[part.first + i] / g.h;
        own.m[i] += relaxed * (mean / (1 - momentum_) - own.m[i]);
      }
      write_direction(part, own.m, own.m, direction);
      rules::step_all<rules::Sgd>(now, part.of(of), direction.data(), own);
    }
    return;
  }
  // The sum of squared norms: as AdaGrad's u, with noise of the squares in each direction.
  double squares = 0, fluctuation = 0, square = 0;
  for (std::size_t i = 0; i < of.number; ++i) {
    const double each = noise[i] / g.h, d = g.d != nullptr ? g.d[i] : 0;
    squares += f[i] * f[i] + d;
    square += (f[i] + each) * (f[i] + each);
    fluctuation += 2 * f[i] * each;
    if (g.squares != nullptr) fluctuation += std::sqrt(2 / part_of_step) * d * g.squares[i];
  }
  double& u = *to.m;
  u += part_of_step * (squares + fluctuation);
  const double factor = 1 / rules::AdaGrad::divisor_of(now, part_of_step, squares, square, u);
  scale(f, factor);
  scale(noise, factor);
  rule_.noisy_step(now, of, {g.h, f.data(), nullptr, noise.data(), nullptr}, to);
}

}  // namespace popflow
