// The gradients of single sequences: drawn, and their exact covariance.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "dynamics/markov/system.hpp"

namespace popflow::markov {

void Markov::add_sampled(StateView x, double /*t*/, const SampleKey& key,
                         std::span<const double> weights, std::span<double> out) const {
  const Surprises of = sampler_.sum(key, weights);
  const Gradient g = slope_of_loss(x);
  const auto [f0_by, f1_by] = logit_derivatives(x);
  // Sums over transitions of x_{n+1} - sigma(f_x), and sigma(f_0) = p + g_0/pi_0.
  const double s0 = of.excess0 - of.visits0 * (g.g0 / chain_.pi0);
  const double s1 = of.excess1 - of.visits1 * (g.g1 / chain_.pi1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto j = static_cast<Eigen::Index>(i);
    out[i] += s0 * f0_by[j] + s1 * f1_by[j];
  }
}

void Markov::covariance(StateView x, double /*t*/, Eigen::Ref<Eigen::MatrixXd> c) const {
  // With r_x = Pr(x_{n+1} = 1 | x_n = x) a transition adds m_x + eta_n d_x, where d_x is the
  // derivative of f_x, m_x = (r_x - sigma(f_x)) d_x, and eta_n = x_{n+1} - r_x has no mean whatever
  // came before. Symbols follow x_{n+1} - pi_1 = lambda (x_n - pi_1) + eta_n, so the sum over n is
  //   its mean + (m_1 - m_0) g(N) (x_0 - pi_1) + sum_n eta_n [d_{x_n} + (m_1 - m_0) g(N-1-n)]
  // with uncorrelated terms: no two of their variances cancel.
  const Gradient g = slope_of_loss(x);
  const auto [f0_by, f1_by] = logit_derivatives(x);
  const auto size = static_cast<Eigen::Index>(x.size());
  const Eigen::Vector3d d0 = f0_by;
  const Eigen::Vector3d d1 = f1_by;
  const Eigen::Vector3d between = (g.g0 / chain_.pi0) * d0 - (g.g1 / chain_.pi1) * d1;
  const PathSums& sums = path_sums_;
  const double N = sums.length;
  const double mean = sums.sum / N;
  const double spread = std::max(sums.squares - sums.sum * mean, 0.0);
  const double first = chain_.pi0 * chain_.pi1 * sums.g * sums.g;
  const double v0 = chain_.pi0 * chain_.p * (1 - chain_.p);
  const double v1 = chain_.pi1 * chain_.q * (1 - chain_.q);
  const Eigen::Vector3d u0 = d0 + mean * between;
  const Eigen::Vector3d u1 = d1 + mean * between;
  const Eigen::Matrix3d all = (N * v0) * u0 * u0.transpose() + (N * v1) * u1 * u1.transpose() +
                              ((v0 + v1) * spread + first) * between * between.transpose();
  c = all.topLeftCorner(size, size) / (N * N);
}

}  // namespace popflow::markov
