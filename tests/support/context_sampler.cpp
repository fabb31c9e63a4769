#include "support/context_sampler.hpp"

#include <cmath>

namespace popflow::joma_joint::test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

Index pick(const VectorXd& weights, RandomStream& random) {
  double left = random.uniform() * weights.sum();
  for (Index i = 0; i + 1 < weights.size(); ++i) {
    left -= weights[i];
    if (left < 0) return i;
  }
  return weights.size() - 1;
}

struct Attended {
  VectorXd b;
  MatrixXd by_z;  ///< db_l / dz_m
};

Attended attend(const VectorXd& x, const VectorXd& z, const Variant& variant) {
  if (variant.attention == AttentionKind::linear)
    return {x.cwiseProduct(z), MatrixXd(x.asDiagonal())};
  const double tau = variant.temperature;
  const VectorXd weight = x.array() * (z.array() / tau).exp();
  if (variant.attention == AttentionKind::exponential)
    return {weight, MatrixXd(weight.asDiagonal()) / tau};
  const VectorXd b = weight / weight.sum();
  return {b, (MatrixXd(b.asDiagonal()) - b * b.transpose()) / tau};
}

double activation(double h, const Variant& variant) {
  switch (variant.activation) {
    case Activation::identity:
      return h;
    case Activation::square:
      return h * h;
    case Activation::gelu:
      return h * (1 + std::erf(h / std::sqrt(2))) / 2;
    case Activation::silu:
      return h / (1 + std::exp(-h));
    case Activation::tanh:
      return std::sinh(h) / std::cosh(h);
    default:
      if (variant.smoothing > 0)
        return variant.smoothing * std::log(1 + std::exp(h / variant.smoothing));
      return std::max(h, 0.0);
  }
}

double activation_slope(double h, const Variant& variant) {
  switch (variant.activation) {
    case Activation::identity:
      return 1;
    case Activation::square:
      return 2 * h;
    case Activation::gelu:
      return (1 + std::erf(h / std::sqrt(2))) / 2 + h * std::exp(-h * h / 2) / std::sqrt(2 * M_PI);
    case Activation::silu: {
      const double e = std::exp(-h);
      return (1 + e + h * e) / ((1 + e) * (1 + e));
    }
    case Activation::tanh:
      return 1 / (std::cosh(h) * std::cosh(h));
    default:
      if (variant.smoothing > 0) return 1 / (1 + std::exp(-h / variant.smoothing));
      return h > 0 ? 1 : 0;
  }
}

}  // namespace

ContextSampler::ContextSampler(const Problem& problem, int context_length)
    : problem_(problem), length_(context_length) {}

Sample ContextSampler::draw(RandomStream& random) const {
  Sample sample{pick(problem_.p, random), VectorXd::Zero(problem_.tokens())};
  for (int i = 0; i < length_; ++i)
    sample.context[pick(problem_.X.col(sample.of_class), random)] += 1.0 / length_;
  return sample;
}

void ContextSampler::enumerate(
    const std::function<void(const Sample&, double probability)>& visit) const {
  for (Index c = 0; c < problem_.classes(); ++c) {
    VectorXd counts = VectorXd::Zero(problem_.tokens());
    // Visits all counts of tokens l, l+1, ... with the sum `left`.
    const std::function<void(Index, int, double)> place = [&](Index l, int left, double log_p) {
      if (l + 1 == counts.size()) {
        counts[l] = left;
        log_p += left * std::log(problem_.X(l, c)) - std::lgamma(left + 1.0);
        visit({c, counts / length_}, problem_.p[c] * std::exp(log_p));
        return;
      }
      for (int n = 0; n <= left; ++n) {
        counts[l] = n;
        place(l + 1, left - n, log_p + n * std::log(problem_.X(l, c)) - std::lgamma(n + 1.0));
      }
    };
    place(0, length_, std::lgamma(length_ + 1.0));
  }
}

SampleLoss sample_loss(const Sample& sample, const Parameters& at, const Variant& variant) {
  const Index K = at.V.cols();
  const Attended attended = attend(sample.context, at.z, variant);
  const VectorXd h = at.V.transpose() * attended.b + at.r;
  VectorXd phi(K), slope(K);
  for (Index k = 0; k < K; ++k) {
    phi[k] = activation(h[k], variant);
    slope[k] = activation_slope(h[k], variant);
  }
  VectorXd by_phi(K);
  double loss = 0;
  if (variant.backprop == Backprop::cross_entropy) {
    const VectorXd probability = phi.array().exp() / phi.array().exp().sum();
    loss = -std::log(probability[sample.of_class]);
    by_phi = probability;
    by_phi[sample.of_class] -= 1;
  } else {
    by_phi.setConstant(1 / static_cast<double>(K));
    if (sample.of_class < K) by_phi[sample.of_class] -= 1;
    loss = by_phi.dot(phi);
  }
  const VectorXd by_h = by_phi.cwiseProduct(slope);
  return {loss, {attended.b * by_h.transpose(), by_h, attended.by_z.transpose() * (at.V * by_h)}};
}

}  // namespace popflow::joma_joint::test
