// Gradients of single sequences: sampling, and their exact covariance.

#include "dynamics/markov/formulas.hpp"
#include "dynamics/markov/system.hpp"

namespace popflow::markov {

void Markov::add_sampled(StateView x, double /*t*/, const SampleKey& key,
                         std::span<const double> weights, std::span<double> out) const {
  const TransitionSums of = sampler_.sum(key, weights);
  const Gradient g = slope_of_loss(x);
  const LogitDerivatives<double> f = logit_derivatives(x[0], acting(x[1]));
  // Sums of x_{n+1} - sigma(f_x) over the transitions from 0 and from 1; sigma(f_0) = p + g_0/pi_0.
  const double s0 = of.excess0 - of.visits0 * (g.g0 / chain_.pi0);
  const double s1 = of.excess1 - of.visits1 * (g.g1 / chain_.pi1);
  out[0] += s0 * f.of0.e + s1 * f.of1.e;
  out[1] += s0 * f.of0.w + s1 * f.of1.w;
  if (free_bias_) out[2] += s0 * f.of0.b + s1 * f.of1.b;
}

void Markov::covariance(StateView x, double /*t*/, Eigen::Ref<Eigen::MatrixXd> c) const {
  const Gradient g = slope_of_loss(x);
  const NoiseNumbers<double> of = noise_numbers(chain_, path_sums_);
  const GradientCovariance all(of, ByLogits<double>{g.g0, g.g1},
                               logit_derivatives(x[0], acting(x[1])));
  c(0, 0) = all.entry<0, 0>();
  c(0, 1) = all.entry<0, 1>();
  c(1, 0) = all.entry<1, 0>();
  c(1, 1) = all.entry<1, 1>();
  if (!free_bias_) return;
  c(0, 2) = all.entry<0, 2>();
  c(1, 2) = all.entry<1, 2>();
  c(2, 0) = all.entry<2, 0>();
  c(2, 1) = all.entry<2, 1>();
  c(2, 2) = all.entry<2, 2>();
}

}  // namespace popflow::markov
