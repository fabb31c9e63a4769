#include "dynamics/joma_joint/flow.hpp"

#include <numeric>

#include "dynamics/joma_joint/box.hpp"

namespace popflow::joma_joint {
namespace {

using Eigen::Index;

// Along a surface dh/dt = -h, so that errors in h, from rounding and the integrator, decay.
constexpr double kReturn = 1;

}  // namespace

Flow::Flow(const Eigen::MatrixXd& X, AttentionKind kind, double temperature, Outputs outputs,
           Index nodes, Workers& workers)
    : attention_(X.transpose(), kind, temperature, nodes, workers),
      outputs_(std::move(outputs)),
      classes_(static_cast<std::size_t>(X.cols())),
      h_(nodes, X.cols()),
      phi_(nodes, X.cols()),
      slope_(nodes, X.cols()),
      g_(nodes, X.cols()),
      w_(nodes, X.cols()) {
  std::iota(classes_.begin(), classes_.end(), 0U);
  if (!outputs_.has_kinks()) return;
  dV_.resize(nodes, X.rows());
  dr_.resize(nodes);
  dz_.resize(X.rows());
}

Eigen::VectorXd Flow::mean_attention(const Attention::Vector& z) {
  attention_.attend(z);
  return attention_.unscaled().transpose() *
         attention_.scales().cwiseProduct(outputs_.class_weights());
}

void Flow::attend(const Point& point) { attention_.attend(point.z); }

void Flow::at(const Point& point, bool attended) {
  if (point.sides != nullptr) return at_kinks(point, attended);
  const Attention::Finished finish = [&](Index first, Index count) {
    outputs_.weigh(count, classes_.data() + first, outputs_.class_weights().data() + first,
                   attention_.products().col(first).data(), point.r.data(),
                   {h_.col(first).data(), phi_.col(first).data(), slope_.col(first).data(),
                    g_.col(first).data(), w_.col(first).data()});
    attention_.weigh(w_, first, count);
  };
  attention_.forward(point.V, point.z, finish, attended);
}

void Flow::at_kinks(const Point& point, bool attended) {
  attention_.forward(point.V, point.z, {}, attended);
  h_ = attention_.products().colwise() + point.r;
  sliding_.clear();
  for (Index c = 0; c < h_.cols(); ++c) {
    for (Index k = 0; k < h_.rows(); ++k) {
      // Uses the regime, not h, so that the right-hand side extends smoothly beyond the end of a
      // regime.
      const Side side = side_of(point.sides[c * h_.rows() + k]);
      phi_(k, c) = side == Side::above ? h_(k, c) : 0.0;
      slope_(k, c) = side == Side::above ? 1 : 0;
      if (side == Side::sliding) sliding_.emplace_back(k, c);
    }
  }
  outputs_.gradient(h_.cols(), classes_.data(), phi_.data(), g_.data());
  w_ = g_.cwiseProduct(slope_) * outputs_.class_weights().asDiagonal();
  if (!sliding_.empty()) slide(point);
  attention_.weigh(w_, 0, w_.cols());
}

void Flow::slide(const Point& point) {
  Eigen::VectorXd wanted = -drift(point, sliding_, w_);
  for (std::size_t i = 0; i < sliding_.size(); ++i)
    wanted[static_cast<Index>(i)] -= kReturn * h_(sliding_[i].first, sliding_[i].second);
  const Eigen::VectorXd weights = solve_semidefinite(gram(point, sliding_), wanted);
  for (std::size_t i = 0; i < sliding_.size(); ++i) {
    const auto [k, c] = sliding_[i];
    w_(k, c) = weights[static_cast<Index>(i)];
    slope_(k, c) = w_(k, c) / pull(sliding_[i]);
  }
}

void Flow::velocity(const Point& point, const Velocity& into) {
  attention_.backward(point.V, w_, into.V, into.r, theorem_ ? nullptr : into.z);
  if (theorem_ == nullptr || into.z == nullptr) return;
  theorem_->rate(point.V, Attention::Matrix(into.V, point.V.rows(), point.V.cols()), point.z,
                 Eigen::Map<Eigen::VectorXd>(into.z, point.z.size()));
}

void Flow::velocity_by(const Point& point, const Eigen::MatrixXd& w, const Velocity& into) {
  const Eigen::MatrixXd kept = w_;
  w_ = w;
  attention_.weigh(w_, 0, w_.cols());
  velocity(point, into);
  w_ = kept;
  attention_.weigh(w_, 0, w_.cols());
}

Eigen::VectorXd Flow::drift(const Point& point, const std::vector<Surface>& surfaces,
                            const Eigen::MatrixXd& w) {
  velocity_by(point, w, {dV_.data(), dr_.data(), dz_.data()});
  const Eigen::MatrixXd B = attention_.attended();
  Eigen::VectorXd by_logits(point.z.size());
  Eigen::VectorXd found(static_cast<Index>(surfaces.size()));
  for (std::size_t i = 0; i < surfaces.size(); ++i) {
    const auto [k, c] = surfaces[i];
    attention_.slope_by_logits(point.V, k, c, by_logits);
    found[static_cast<Index>(i)] = dV_.row(k).dot(B.row(c)) + dr_[k] + by_logits.dot(dz_);
  }
  return found;
}

Eigen::MatrixXd Flow::gram(const Point& point, const std::vector<Surface>& surfaces) const {
  const auto n = static_cast<Index>(surfaces.size());
  const Eigen::MatrixXd B = attention_.attended();
  Eigen::MatrixXd by_logits(point.z.size(), n);
  for (Index i = 0; i < n; ++i) {
    const auto [k, c] = surfaces[static_cast<std::size_t>(i)];
    attention_.slope_by_logits(point.V, k, c, by_logits.col(i));
  }
  Eigen::MatrixXd A = by_logits.transpose() * by_logits;
  if (theorem_ != nullptr && attention_.kind() == AttentionKind::softmax) {
    // Here z follows from an approximation that uses the start's mean attention in place of b_c.
    for (Index j = 0; j < n; ++j) {
      const auto [k, c] = surfaces[static_cast<std::size_t>(j)];
      const double product = attention_.products()(k, c);
      const Eigen::VectorXd instead = B.row(c).transpose() - theorem_->mean_attention();
      A.col(j) += by_logits.transpose() * instead * (product / attention_.temperature());
    }
  }
  const Eigen::MatrixXd contexts = B * B.transpose();
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) {
      const auto [k, c] = surfaces[static_cast<std::size_t>(i)];
      const auto [other, d] = surfaces[static_cast<std::size_t>(j)];
      if (k == other) A(i, j) += contexts(c, d) + 1;
    }
  }
  return A;
}

void Flow::velocity_of(const Point& point, const std::vector<Surface>& surfaces,
                       const Eigen::VectorXd& weights, const Velocity& into) {
  Eigen::MatrixXd w = Eigen::MatrixXd::Zero(w_.rows(), w_.cols());
  for (std::size_t i = 0; i < surfaces.size(); ++i)
    w(surfaces[i].first, surfaces[i].second) = weights[static_cast<Index>(i)];
  velocity_by(point, w, into);
}

}  // namespace popflow::joma_joint
