#include "dynamics/joma_joint/outputs.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace popflow::joma_joint {
namespace {

using Eigen::Index;

/// log sum_k e^{phi_k} - phi_c >= 0, without the difference of the two where c is the largest.
double cross_entropy(const Eigen::Ref<const Eigen::VectorXd>& phi, Index c) {
  Index largest = 0;
  const double top = phi.maxCoeff(&largest);
  double others = 0;
  for (Index k = 0; k < phi.size(); ++k)
    if (k != largest) others += std::exp(phi[k] - top);
  return top - phi[c] + std::log1p(others);
}

// Each tail by its own exponential: 1 minus the other would lose its digits.

/// The distribution function of the normal law.
double normal_below(double h) { return std::erfc(-h / std::numbers::sqrt2) / 2; }

double normal_density(double h) {
  return std::exp(-h * h / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

/// 1/(1 + e^-h).
double logistic(double h) {
  const double small = std::exp(-std::abs(h));
  return (h > 0 ? 1 : small) / (1 + small);
}

/// 1 - tanh(h)^2.
double tanh_slope(double h) {
  const double small = std::exp(-2 * std::abs(h));
  return 4 * small / ((1 + small) * (1 + small));
}

}  // namespace

Outputs::Outputs(Activation activation, Backprop backprop, double smoothing, Eigen::VectorXd p)
    : activation_(activation), backprop_(backprop), smoothing_(smoothing), p_(std::move(p)) {}

double Outputs::value(double h) const {
  switch (activation_) {
    case Activation::identity:
      return h;
    case Activation::square:
      return h * h;
    case Activation::gelu:
      return h * normal_below(h);
    case Activation::silu:
      return h * logistic(h);
    case Activation::tanh:
      return std::tanh(h);
    case Activation::relu:
      break;
  }
  const double sharp = h > 0 ? h : 0.0;
  return smoothing_ > 0 ? sharp + smoothing_ * std::log1p(std::exp(-std::abs(h) / smoothing_))
                        : sharp;
}

double Outputs::slope(double h) const {
  switch (activation_) {
    case Activation::identity:
      return 1;
    case Activation::square:
      return 2 * h;
    case Activation::gelu:
      return normal_below(h) + h * normal_density(h);
    case Activation::silu:
      return logistic(h) * (1 + h * logistic(-h));
    case Activation::tanh:
      return tanh_slope(h);
    case Activation::relu:
      break;
  }
  if (!(smoothing_ > 0)) return h > 0 ? 1 : 0;
  return logistic(h / smoothing_);
}

void Outputs::gradient(const Eigen::MatrixXd& phi, Eigen::MatrixXd& g) const {
  for (Index c = 0; c < phi.cols(); ++c) gradient(c, phi.col(c), g.col(c));
}

void Outputs::gradient(Index c, const Eigen::Ref<const Eigen::VectorXd>& phi,
                       Eigen::Ref<Eigen::VectorXd> g) const {
  const Index K = phi.size();
  if (backprop_ == Backprop::stationary) {
    g.setConstant(-1 / static_cast<double>(K));
    if (c < K) g[c] = static_cast<double>(K - 1) / static_cast<double>(K);
    return;
  }
  const double top = phi.maxCoeff();
  double sum = 0;
  double others = 0;
  for (Index k = 0; k < K; ++k) {
    const double e = std::exp(phi[k] - top);
    g[k] = -e;
    sum += e;
    if (k != c) others += e;
  }
  g[c] = others;  // 1 - softmax_c would lose its digits as the class is learned
  g /= sum;
}

double Outputs::loss(const Eigen::MatrixXd& phi) const {
  double loss = 0;
  if (backprop_ == Backprop::cross_entropy) {
    for (Index c = 0; c < phi.cols(); ++c) loss += p_[c] * cross_entropy(phi.col(c), c);
    return loss;
  }
  for (Index c = 0; c < phi.cols(); ++c) {
    const double own = c < phi.rows() ? phi(c, c) : 0.0;
    loss -= p_[c] * (own - phi.col(c).mean());
  }
  return loss;
}

}  // namespace popflow::joma_joint
