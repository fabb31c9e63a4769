#include "dynamics/joma_joint/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "dynamics/common/products.hpp"
#include "dynamics/joma_joint/kernels.hpp"

namespace popflow::joma_joint {
namespace {

using Eigen::Index;

// Task sizes. They depend on sizes alone, so sums have the same order on any number of threads.
constexpr Index kBlock = 512;  ///< tokens of one task of the product forward, or more of very many
constexpr Index kMostBlocks = 64;
constexpr Index kContexts = 32;  ///< contexts of one task of the product forward
constexpr Index kTokens = 64;    ///< tokens of one task of the product backward

// Of a product so many multiplications cost as much as an element touched.
constexpr std::size_t kPerElement = 8;

Index pieces(Index size, Index piece) { return (size + piece - 1) / piece; }

// The columns of a matrix from `first` on, their rows from `row` on.
template <typename M>
Columns columns_from(const M& m, Index first, Index row = 0) {
  return {m.data() + first * m.rows() + row, static_cast<std::size_t>(m.rows())};
}

// A sum of exponentials below this has lost what matters to it: all tokens of the context lie far
// below the largest of all.
constexpr double kSmallestSum = 1e-200;

}  // namespace

Index blocks_of_tokens(Index tokens) {
  return std::clamp<Index>(pieces(tokens, kBlock), 1, kMostBlocks);
}

/// How the product forward is cut: into blocks of tokens x groups of contexts.
struct Attention::Tiles {
  Index blocks, groups;
  std::size_t work;
};

Attention::Tiles Attention::tiles() const {
  return {sums_.cols(), pieces(X_.rows(), kContexts), to_size(X_.size() * K_) / kPerElement};
}

Attention::Attention(Eigen::MatrixXd contexts, AttentionKind kind, double temperature, Index nodes,
                     Workers& workers)
    : kind_(kind),
      temperature_(temperature),
      workers_(workers),
      K_(nodes),
      block_(pieces(contexts.cols(), blocks_of_tokens(contexts.cols()))),
      X_(std::move(contexts)),
      B_(X_),
      products_(nodes, X_.rows()),
      gains_(X_.cols()),
      scales_(Eigen::VectorXd::Ones(X_.rows())),
      partial_(nodes, X_.rows() * blocks_of_tokens(X_.cols())),
      sums_(X_.rows(), blocks_of_tokens(X_.cols())),
      alone_(Eigen::VectorXi::Zero(X_.rows())),
      weights_(nodes, X_.rows()),
      pulls_(X_.rows()) {}

void Attention::set_gains(const Vector& z) {
  if (kind_ == AttentionKind::linear) {
    gains_ = z;
    return;
  }
  const double top = kind_ == AttentionKind::softmax ? z.maxCoeff() : 0.0;
  kernels::exponentials(to_size(z.size()), top, temperature_, z.data(), gains_.data());
}

void Attention::attend_block(Index block, Index first, Index contexts) {
  const Index token = block * block_;
  const Index begin = token * X_.rows() + first;
  kernels::attend(to_size(contexts), to_size(std::min(block_, X_.cols() - token)),
                  to_size(X_.rows()), gains_.data() + token, X_.data() + begin, B_.data() + begin,
                  sums_.col(block).data() + first);
}

void Attention::set_scales(Index first, Index contexts, const Vector& z) {
  if (kind_ != AttentionKind::softmax) return;
  for (Index c = first; c < first + contexts; ++c) {
    const double sum = sums_.row(c).sum();
    scales_[c] = 1 / sum;
    alone_[c] = sum < kSmallestSum;
    if (alone_[c] != 0) attend_alone(c, z);
  }
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
  scales_[context] = 1 / sum;
}

void Attention::multiply_block(const Matrix& V, Index block, Index first, Index contexts) {
  const Index token = block * block_;
  product_with_transpose(to_size(K_), to_size(contexts),
                         to_size(std::min(block_, X_.cols() - token)), columns_from(V, token),
                         columns_from(B_, token, first),
                         partial_.col(block * X_.rows() + first).data(), to_size(K_));
}

void Attention::sum_products(const Matrix& V, Index first, Index contexts) {
  double* const sums = partial_.col(first).data();
  for (Index block = 1; block < sums_.cols(); ++block)
    kernels::add(to_size(K_ * contexts), partial_.col(block * X_.rows() + first).data(), sums);
  kernels::scale_columns(to_size(K_), to_size(contexts), scales_.data() + first, sums,
                         products_.col(first).data());
  for (Index c = first; c < first + contexts; ++c)
    if (kind_ == AttentionKind::softmax && alone_[c] != 0)
      products_.col(c) = V * B_.row(c).transpose() * scales_[c];
}

void Attention::attend(const Vector& z) {
  set_gains(z);
  struct Call {
    Attention& self;
    const Vector& z;
    Tiles tiles;
  } call{*this, z, tiles()};
  workers_.run(to_size(call.tiles.groups), to_size(X_.size()), [&call](std::size_t task) {
    const Index first = static_cast<Index>(task) * kContexts;
    const Index contexts = std::min(kContexts, call.self.X_.rows() - first);
    for (Index block = 0; block < call.tiles.blocks; ++block)
      call.self.attend_block(block, first, contexts);
    call.self.set_scales(first, contexts, call.z);
  });
}

void Attention::forward(const Matrix& V, const Vector& z, const Finished& finished, bool attended) {
  if (!attended) set_gains(z);
  struct Call {
    Attention& self;
    const Matrix& V;
    const Vector& z;
    const Finished& finished;
    bool attended;
    Tiles tiles;

    [[nodiscard]] Index contexts(Index first) const {
      return std::min(kContexts, self.X_.rows() - first);
    }
    void multiply(Index block, Index first) const {
      if (!attended) self.attend_block(block, first, contexts(first));
      self.multiply_block(V, block, first, contexts(first));
    }
    void complete(Index first) const {
      if (!attended) self.set_scales(first, contexts(first), z);
      self.sum_products(V, first, contexts(first));
      if (finished) finished(first, contexts(first));
    }
  } call{*this, V, z, finished, attended, tiles()};
  if (call.tiles.blocks == 1) {
    workers_.run(to_size(call.tiles.groups), call.tiles.work, [&call](std::size_t task) {
      call.multiply(0, static_cast<Index>(task) * kContexts);
      call.complete(static_cast<Index>(task) * kContexts);
    });
    return;
  }
  // Groups of a block one after the other: they share its part of V.
  workers_.run(to_size(call.tiles.blocks * call.tiles.groups), call.tiles.work,
               [&call](std::size_t task) {
                 const auto groups = to_size(call.tiles.groups);
                 call.multiply(static_cast<Index>(task / groups),
                               static_cast<Index>(task % groups) * kContexts);
               });
  workers_.run(to_size(call.tiles.groups), to_size(partial_.size()),
               [&call](std::size_t task) { call.complete(static_cast<Index>(task) * kContexts); });
}

template <bool add>
void Attention::to_tokens(const Matrix& V, Index first, Index tokens, double* dV, double* dz) {
  const bool linear = kind_ == AttentionKind::linear;
  const auto loan = tasks_.borrow();
  Task& task = *loan;
  if (task.moved.cols() < tokens) {
    task.moved.resize(K_, tokens);
    for (Eigen::VectorXd* numbers : {&task.along, &task.pulled}) numbers->resize(tokens);
  }
  const std::size_t nodes = to_size(K_);
  const std::size_t number = to_size(tokens);
  double* const out = dV + first * K_;
  // With linear attention first what z gains, dV/z: z itself may be 0.
  double* const moved = add || linear ? task.moved.data() : out;
  product(nodes, number, to_size(X_.rows()), columns_from(weights_, 0),
          columns_from(linear ? X_ : B_, first), moved, nodes);
  if (dz != nullptr)
    kernels::dots(nodes, number, V.col(first).data(), nodes, moved, false, task.along.data());
  if constexpr (add) {
    if (linear)
      kernels::add_scaled_columns(nodes, number, gains_.data() + first, moved, out);
    else
      kernels::add(nodes * number, moved, out);
  } else if (linear) {
    kernels::scale_columns(nodes, number, gains_.data() + first, moved, out);
  }
  if (dz == nullptr) return;
  auto along = task.along.head(tokens);
  if (kind_ == AttentionKind::softmax) {
    kernels::dots(to_size(X_.rows()), number, B_.col(first).data(), to_size(X_.rows()),
                  pulls_.data(), true, task.pulled.data());
    along -= task.pulled.head(tokens);
  }
  if (!linear) along /= temperature_;
  Eigen::Map<Eigen::VectorXd> velocity(dz + first, tokens);
  if constexpr (add)
    velocity += along;
  else
    velocity = along;
}

template <bool add>
void Attention::weigh_contexts(const Eigen::MatrixXd& w, double* dr) {
  struct Call {
    Attention& self;
    const Eigen::MatrixXd& w;
    double* dr;
    std::size_t groups;

    void sum_to_nodes() const {
      if (!add) std::fill_n(dr, self.K_, 0.0);
      for (Index c = 0; c < w.cols(); ++c) kernels::add(to_size(w.rows()), w.col(c).data(), dr);
    }
    void weigh(Index first) const {
      const std::size_t nodes = to_size(self.K_);
      const std::size_t contexts = to_size(std::min(kContexts, self.X_.rows() - first));
      double* const weights = self.weights_.col(first).data();
      kernels::scale_columns(nodes, contexts, self.scales_.data() + first, w.col(first).data(),
                             weights);
      if (self.kind_ == AttentionKind::softmax)
        kernels::dots(nodes, contexts, weights, nodes, self.products_.col(first).data(), false,
                      self.pulls_.data() + first);
    }
  } call{*this, w, dr, to_size(tiles().groups)};
  workers_.run(call.groups + 1, to_size(w.size()), [&call](std::size_t task) {
    if (task == 0)
      call.sum_to_nodes();
    else
      call.weigh(static_cast<Index>(task - 1) * kContexts);
  });
}

template <bool add>
void Attention::to_velocities(const Matrix& V, const Eigen::MatrixXd& w, double* dV, double* dr,
                              double* dz) {
  weigh_contexts<add>(w, dr);
  struct Call {
    Attention& self;
    const Matrix& V;
    double* dV;
    double* dz;
    Index tokens;
  } call{*this, V, dV, dz, 0};
  const Index tasks = pieces(X_.cols(), kTokens);
  call.tokens = pieces(pieces(X_.cols(), tasks), 4) * 4;
  workers_.run(to_size(tasks), to_size(X_.size() * K_) / kPerElement, [&call](std::size_t task) {
    const Index first = static_cast<Index>(task) * call.tokens;
    const Index tokens = std::min(call.tokens, call.self.X_.cols() - first);
    if (tokens > 0) call.self.template to_tokens<add>(call.V, first, tokens, call.dV, call.dz);
  });
}

void Attention::backward(const Matrix& V, const Eigen::MatrixXd& w, double* dV, double* dr,
                         double* dz) {
  to_velocities<false>(V, w, dV, dr, dz);
}

void Attention::add_backward(const Matrix& V, const Eigen::MatrixXd& w, double* dV, double* dr,
                             double* dz) {
  to_velocities<true>(V, w, dV, dr, dz);
}

void Attention::slope_by_logits(const Matrix& V, Index node, Index context,
                                Eigen::Ref<Eigen::VectorXd> slope) const {
  const auto v = V.row(node).transpose().array();
  const auto b = B_.row(context).transpose().array();
  switch (kind_) {
    case AttentionKind::linear:
      slope = X_.row(context).transpose().array() * v;
      break;
    case AttentionKind::exponential:
      slope = b * v / temperature_;
      break;
    case AttentionKind::softmax:
      slope = b * scales_[context] * (v - products_(node, context)) / temperature_;
      break;
  }
}

}  // namespace popflow::joma_joint
