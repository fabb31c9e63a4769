#include "dynamics/joma_joint/outputs.hpp"

#include <algorithm>
#include <cmath>
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

}  // namespace

Outputs::Outputs(Activation activation, Backprop backprop, double smoothing, Eigen::VectorXd p)
    : activation_(activation), backprop_(backprop), smoothing_(smoothing), p_(std::move(p)) {}

double Outputs::value(double h) const {
  if (activation_ == Activation::identity) return h;
  if (activation_ == Activation::square) return h * h;
  const double sharp = h > 0 ? h : 0.0;
  return smoothing_ > 0 ? sharp + smoothing_ * std::log1p(std::exp(-std::abs(h) / smoothing_))
                        : sharp;
}

double Outputs::slope(double h) const {
  if (activation_ == Activation::identity) return 1;
  if (activation_ == Activation::square) return 2 * h;
  if (!(smoothing_ > 0)) return h > 0 ? 1 : 0;
  const double small = std::exp(-std::abs(h) / smoothing_);
  return (h > 0 ? 1 : small) / (1 + small);
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
