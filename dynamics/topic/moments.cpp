#include "dynamics/topic/moments.hpp"

#include <cmath>

#include "popflow/math.hpp"

namespace popflow::topic {

Moments::Moments(const Data& data) : size_(data), mask_mean_(data.z_mask()) {
  const double T = data.T(), tau = data.tau();
  // z_in - z_out without cancellation, and the covariance of the topics in a document.
  const double step = ((1 - data.mask_prob) + data.mask_prob * data.keep_prob) / data.inside();
  const double covariance = T > 1 ? tau * (T - tau) / (T * (T - 1)) : 0;
  word_mean_ = (data.inside() * data.z_inside() + data.outside() * data.z_outside()) / data.n();
  between_ = step * step * covariance * data.v();
  cross_ = step * covariance / tau;
}

Moments::Sums Moments::sums(const ConstMatrix& W) const {
  const Eigen::Index v = size_.words_per_topic;
  Sums s{mask_mean_ * W.col(0), Eigen::MatrixXd(W.rows(), size_.topics)};
  for (Eigen::Index t = 0; t < size_.topics; ++t)
    s.contrast.col(t) = W.middleCols(1 + t * v, v).rowwise().mean();
  const Eigen::VectorXd mean = s.contrast.rowwise().mean();
  s.by_mean += word_mean_ * static_cast<double>(size_.words) * mean;
  s.contrast.colwise() -= mean;
  return s;
}

double Moments::loss(const ConstMatrix& W) const {
  const Eigen::Index v = size_.words_per_topic;
  const Sums s = sums(W);
  double own = 0;  // tr(W'P)
  for (Eigen::Index t = 0; t < size_.topics; ++t) own += s.contrast.col(t).segment(t * v, v).sum();
  return 1 + s.by_mean.squaredNorm() - 2 * s.by_mean.mean() +
         static_cast<double>(v) * between_ * s.contrast.squaredNorm() - 2 * cross_ * own;
}

void Moments::gradient(const ConstMatrix& W, MatrixOut out) const {
  const Eigen::Index v = size_.words_per_topic;
  Sums s = sums(W);
  s.by_mean.array() -= 1 / static_cast<double>(size_.words);
  // Column k of P: 1/v in its topic, minus 1/n everywhere.
  s.contrast *= between_;
  s.contrast.array() += cross_ / static_cast<double>(size_.words);
  for (Eigen::Index t = 0; t < size_.topics; ++t)
    s.contrast.col(t).segment(t * v, v).array() -= cross_ / static_cast<double>(v);
  out.col(0) = 2 * mask_mean_ * s.by_mean;
  for (Eigen::Index t = 0; t < size_.topics; ++t)
    out.middleCols(1 + t * v, v).colwise() = 2 * (s.contrast.col(t) + word_mean_ * s.by_mean);
}

double Moments::excess(const ConstMatrix& D) const {
  const Sums s = sums(D);
  return s.by_mean.squaredNorm() +
         static_cast<double>(size_.words_per_topic) * between_ * s.contrast.squaredNorm();
}

Eigen::MatrixXd Moments::decayed(const ConstMatrix& D, double l2, double t) const {
  const Eigen::Index v = size_.words_per_topic;
  const Sums s = sums(D);
  const double mean2 =
      mask_mean_ * mask_mean_ + static_cast<double>(size_.words) * word_mean_ * word_mean_;
  // Remaining factor minus 1; a component of rate 0 stays at t = infinity.
  const auto lost = [t](double rate) { return rate > 0 ? math::expm1(-2 * rate * t) : 0; };
  const double contrast = lost(between_), mean = lost(mean2) / mean2;
  Eigen::MatrixXd left = D;
  left.col(0) += mean * mask_mean_ * s.by_mean;
  for (Eigen::Index k = 0; k < size_.topics; ++k)
    left.middleCols(1 + k * v, v).colwise() +=
        contrast * s.contrast.col(k) + mean * word_mean_ * s.by_mean;
  return (1 + lost(l2)) * left;
}

}  // namespace popflow::topic
