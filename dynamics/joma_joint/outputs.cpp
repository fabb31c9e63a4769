#include "dynamics/joma_joint/outputs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "dynamics/joma_joint/kernels.hpp"
#include "popflow/math.hpp"

namespace popflow::joma_joint {
namespace {

using Eigen::Index;

/// log sum_k e^{phi_k} - phi_c >= 0, without cancellation if c is the largest.
double cross_entropy(const Eigen::Ref<const Eigen::VectorXd>& phi, Index c) {
  Index largest = 0;
  const double top = phi.maxCoeff(&largest);
  double others = 0;
  for (Index k = 0; k < phi.size(); ++k)
    if (k != largest) others += math::exp(phi[k] - top);
  return top - phi[c] + math::log1p(others);
}

// ---- Each tail is computed by its own exponential: 1 minus the other tail would lose its digits.

/// Distribution function of the normal distribution.
double normal_below(double h) { return math::erfc(-h / std::numbers::sqrt2) / 2; }

double normal_density(double h) {
  return math::exp(-h * h / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

/// 1/(1 + e^-h).
double logistic(double h) {
  const double small = math::exp(-std::abs(h));
  return (h > 0 ? 1 : small) / (1 + small);
}

/// 1 - tanh(h)^2.
double tanh_slope(double h) {
  const double small = math::exp(-2 * std::abs(h));
  return 4 * small / ((1 + small) * (1 + small));
}

}  // namespace

Outputs::Outputs(Activation activation, Backprop backprop, double smoothing, Index nodes,
                 Eigen::VectorXd p)
    : activation_(activation),
      backprop_(backprop),
      smoothing_(smoothing),
      nodes_(nodes),
      p_(std::move(p)) {}

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
      return math::tanh(h);
    case Activation::relu:
      break;
  }
  const double sharp = h > 0 ? h : 0.0;
  return smoothing_ > 0 ? sharp + smoothing_ * math::log1p(math::exp(-std::abs(h) / smoothing_))
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

void Outputs::activate(Eigen::Index number, const double* h, double* phi, double* slope) const {
  for (Index i = 0; i < number; ++i) {
    phi[i] = value(h[i]);
    slope[i] = this->slope(h[i]);
  }
}

void Outputs::gradient(Index contexts, const std::uint32_t* classes, const double* phi,
                       double* g) const {
  if (backprop_ == Backprop::cross_entropy) {
    kernels::cross_entropy_gradients(static_cast<std::size_t>(nodes_),
                                     static_cast<std::size_t>(contexts), classes, phi, g);
    return;
  }
  std::fill_n(g, nodes_ * contexts, -1 / static_cast<double>(nodes_));
  for (Index i = 0; i < contexts; ++i)
    if (classes[i] < nodes_)
      g[i * nodes_ + classes[i]] = static_cast<double>(nodes_ - 1) / static_cast<double>(nodes_);
}

void Outputs::weigh(Index contexts, const std::uint32_t* classes, const double* weights,
                    const double* products, const double* r, const Heads& heads) const {
  const auto nodes = static_cast<std::size_t>(nodes_);
  const auto columns = static_cast<std::size_t>(contexts);
  const bool identity = activation_ == Activation::identity;
  kernels::shift_columns(nodes, columns, r, products, identity ? heads.phi : heads.h);
  if (!identity) activate(nodes_ * contexts, heads.h, heads.phi, heads.slope);
  gradient(contexts, classes, heads.phi, heads.g);
  if (identity)
    kernels::scale_columns(nodes, columns, weights, heads.g, heads.w);
  else
    kernels::weigh_columns(nodes, columns, weights, heads.g, heads.slope, heads.w);
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
