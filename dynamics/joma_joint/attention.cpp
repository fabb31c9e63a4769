#include "dynamics/joma_joint/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dynamics/common/products.hpp"
#include "dynamics/common/widest.hpp"

namespace popflow::joma_joint {
namespace {

using Eigen::Index;

// Task sizes. They are constants, so sums have the same order on any number of threads.
constexpr Index kContexts = 32;  ///< classes of one task of the product forward
constexpr Index kTokens = 128;   ///< tokens of one task of the product backward

// The columns of a matrix from `first` on, their rows from `row` on.
template <typename M>
Columns columns_from(const M& m, Index first, Index row = 0) {
  return {m.data() + first * m.rows() + row, static_cast<std::size_t>(m.rows())};
}

Index pieces(Index size, Index piece) { return (size + piece - 1) / piece; }

// For a token with this gain, all classes.

POPFLOW_WIDEST void scale(std::size_t classes, double gain, const double* __restrict__ x,
                          double* __restrict__ b) {
  for (std::size_t c = 0; c < classes; ++c) b[c] = gain * x[c];
}

POPFLOW_WIDEST void add_scaled(std::size_t classes, double gain, const double* __restrict__ x,
                               double* __restrict__ sums) {
  for (std::size_t c = 0; c < classes; ++c) sums[c] += gain * x[c];
}

POPFLOW_WIDEST void share(std::size_t classes, double gain, const double* __restrict__ x,
                          const double* __restrict__ sums, double* __restrict__ b) {
  for (std::size_t c = 0; c < classes; ++c) b[c] = gain * x[c] / sums[c];
}

// A sum of exponentials below this has lost what matters to it: all tokens of the class lie far
// below the largest of all.
constexpr double kSmallestSum = 1e-200;

}  // namespace

Attention::Attention(const Eigen::MatrixXd& X, AttentionKind kind, double temperature, Index nodes,
                     Workers& workers)
    : kind_(kind),
      temperature_(temperature),
      workers_(workers),
      X_(X.transpose()),
      B_(X_),
      products_(nodes, X.cols()),
      gain_(X.rows()),
      sums_(X.cols()),
      partial_(static_cast<std::size_t>(pieces(X.rows(), kStretch)),
               Eigen::MatrixXd(nodes, X.cols())),
      partial_sums_(X.cols(), pieces(X.rows(), kStretch)) {}

void Attention::forward(const Matrix& V, const Vector& z) {
  attend(z);
  multiply(V);
}

void Attention::attend(const Vector& z) {
  const double top = kind_ == AttentionKind::softmax ? z.maxCoeff() : 0.0;
  struct Call {
    Attention& self;
    const Vector& z;
    double top;
  } call{*this, z, top};
  const auto tasks = static_cast<std::size_t>(partial_.size());
  const auto work = static_cast<std::size_t>(X_.size());
  workers_.run(tasks, work, [&call](std::size_t task) {
    Attention& a = call.self;
    const Index first = static_cast<Index>(task) * kStretch;
    const Index count = std::min(kStretch, a.X_.cols() - first);
    auto gain = a.gain_.segment(first, count);
    if (a.kind_ == AttentionKind::linear)
      gain = call.z.segment(first, count);
    else
      gain = ((call.z.segment(first, count).array() - call.top) / a.temperature_).exp();
    const auto classes = static_cast<std::size_t>(a.X_.rows());
    if (a.kind_ != AttentionKind::softmax) {
      for (Index l = first; l < first + count; ++l)
        scale(classes, a.gain_[l], a.X_.col(l).data(), a.B_.col(l).data());
      return;
    }
    auto sum = a.partial_sums_.col(static_cast<Index>(task));
    sum.setZero();
    for (Index l = first; l < first + count; ++l)
      add_scaled(classes, a.gain_[l], a.X_.col(l).data(), sum.data());
  });
  if (kind_ != AttentionKind::softmax) return;
  sums_ = partial_sums_.rowwise().sum();
  workers_.run(tasks, work, [&call](std::size_t task) {
    Attention& a = call.self;
    const Index first = static_cast<Index>(task) * kStretch;
    const Index count = std::min(kStretch, a.X_.cols() - first);
    for (Index l = first; l < first + count; ++l)
      share(static_cast<std::size_t>(a.X_.rows()), a.gain_[l], a.X_.col(l).data(), a.sums_.data(),
            a.B_.col(l).data());
  });
  for (Index c = 0; c < sums_.size(); ++c)
    if (sums_[c] < kSmallestSum) attend_alone(c, z);
}

void Attention::attend_alone(Index context, const Vector& z) {
  double top = -std::numeric_limits<double>::infinity();
  for (Index l = 0; l < z.size(); ++l)
    if (X_(context, l) > 0) top = std::max(top, z[l]);
  double sum = 0;
  for (Index l = 0; l < z.size(); ++l) {
    const double x = X_(context, l);
    B_(context, l) = x > 0 ? x * std::exp((z[l] - top) / temperature_) : 0.0;
    sum += B_(context, l);
  }
  B_.row(context) /= sum;
}

void Attention::multiply(const Matrix& V) {
  struct Call {
    Attention& self;
    const Matrix& V;
    std::size_t groups;
  } call{*this, V, static_cast<std::size_t>(pieces(X_.rows(), kContexts))};
  workers_.run(partial_.size() * call.groups, static_cast<std::size_t>(V.size()),
               [&call](std::size_t task) {
                 Attention& a = call.self;
                 const Index first = static_cast<Index>(task / call.groups) * kStretch;
                 const Index count = std::min(kStretch, a.X_.cols() - first);
                 const Index c = static_cast<Index>(task % call.groups) * kContexts;
                 const Index contexts = std::min(kContexts, a.X_.rows() - c);
                 const auto nodes = static_cast<std::size_t>(call.V.rows());
                 product_with_transpose(nodes, static_cast<std::size_t>(contexts),
                                        static_cast<std::size_t>(count),
                                        columns_from(call.V, first), columns_from(a.B_, first, c),
                                        a.partial_[task / call.groups].col(c).data(), nodes);
               });
  products_ = partial_[0];
  for (std::size_t i = 1; i < partial_.size(); ++i) products_ += partial_[i];
}

void Attention::backward(const Matrix& V, const Vector& z, const Eigen::MatrixXd& w, double* dV,
                         double* dr, double* dz) {
  Eigen::Map<Eigen::VectorXd>(dr, w.rows()) = w.rowwise().sum();
  if (kind_ == AttentionKind::softmax && dz)
    sums_ = w.cwiseProduct(products_).colwise().sum().transpose();
  struct Call {
    Attention& self;
    const Matrix& V;
    const Vector& z;
    const Eigen::MatrixXd& w;
    double* dV;
    double* dz;
  } call{*this, V, z, w, dV, dz};
  workers_.run(static_cast<std::size_t>(pieces(V.cols(), kTokens)),
               static_cast<std::size_t>(V.size()), [&call](std::size_t task) {
                 Attention& a = call.self;
                 const Index first = static_cast<Index>(task) * kTokens;
                 const Index count = std::min(kTokens, call.V.cols() - first);
                 Eigen::Map<Eigen::MatrixXd> all(call.dV, call.V.rows(), call.V.cols());
                 auto moved = all.middleCols(first, count);
                 const bool linear = a.kind_ == AttentionKind::linear;
                 // With linear attention first what z gains, dV/z: z itself may be 0.
                 const auto nodes = static_cast<std::size_t>(call.V.rows());
                 product(nodes, static_cast<std::size_t>(count),
                         static_cast<std::size_t>(call.w.cols()), columns_from(call.w, 0),
                         columns_from(linear ? a.X_ : a.B_, first), moved.data(), nodes);
                 for (Index i = 0; i < count; ++i) {
                   const Index l = first + i;
                   const double along = call.V.col(l).dot(moved.col(i));
                   if (linear) moved.col(i) *= call.z[l];
                   if (!call.dz) continue;
                   switch (a.kind_) {
                     case AttentionKind::linear:
                       call.dz[l] = along;
                       break;
                     case AttentionKind::exponential:
                       call.dz[l] = along / a.temperature_;
                       break;
                     case AttentionKind::softmax:
                       call.dz[l] = (along - a.B_.col(l).dot(a.sums_)) / a.temperature_;
                       break;
                   }
                 }
               });
}

void Attention::slope_by_logits(const Matrix& V, Index node, Index context,
                                Eigen::Ref<Eigen::VectorXd> slope) const {
  const auto v = V.row(node).transpose().array();
  switch (kind_) {
    case AttentionKind::linear:
      slope = X_.row(context).transpose().array() * v;
      break;
    case AttentionKind::exponential:
      slope = B_.row(context).transpose().array() * v / temperature_;
      break;
    case AttentionKind::softmax:
      slope = B_.row(context).transpose().array() * (v - products_(node, context)) / temperature_;
      break;
  }
}

}  // namespace popflow::joma_joint
