#include "dynamics/joma_joint/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "dynamics/common/products.hpp"
#include "dynamics/joma_joint/kernels.hpp"
#include "popflow/math.hpp"

namespace popflow::joma_joint {
namespace {

using Eigen::Index;

// Task sizes. They are independent of the number of threads, so that sums have a fixed order.
constexpr Index kBlock = 512;  ///< tokens per task of the forward product, or more if very many
constexpr Index kMostBlocks = 64;
constexpr Index kContexts = 32;  ///< contexts per task of the forward product
constexpr Index kTokens = 64;    ///< tokens per task of the backward product

// Number of multiplications in a product that cost as much as touching an element.
constexpr std::size_t kPerElement = 8;

Index pieces(Index size, Index piece) { return (size + piece - 1) / piece; }

// Columns of a matrix from `first` on, their rows from `row` on.
template <typename M>
Columns columns_from(const M& m, Index first, Index row = 0) {
  return {m.data() + first * m.rows() + row, static_cast<std::size_t>(m.rows())};
}

}  // namespace

Index blocks_of_tokens(Index tokens) {
  return std::clamp<Index>(pieces(tokens, kBlock), 1, kMostBlocks);
}

/// Division of the forward product into blocks of tokens x groups of contexts.
struct Attention::Tiles {
  Index blocks, groups;
  std::size_t work;
};

Attention::Tiles Attention::tiles() const {
  return {sums_.cols(), pieces(X_.rows(), group_), to_size(X_.size() * K_) / kPerElement};
}

Attention::Attention(Eigen::MatrixXd contexts, AttentionKind kind, double temperature, Index nodes,
                     Workers& workers)
    : kind_(kind),
      temperature_(temperature),
      workers_(workers),
      K_(nodes),
      block_(pieces(contexts.cols(), blocks_of_tokens(contexts.cols()))),
      group_(contexts.size() * nodes < kMultiplicationsOfTask ? contexts.rows() : kContexts),
      X_(std::move(contexts)),
      products_(nodes, X_.rows()),
      gains_(X_.cols()),
      scales_(Eigen::VectorXd::Ones(X_.rows())),
      partial_(nodes, X_.rows() * blocks_of_tokens(X_.cols())),
      sums_(X_.rows(), blocks_of_tokens(X_.cols())),
      alone_(to_size(X_.rows())),
      weights_(nodes, X_.rows()),
      pulls_(X_.rows()) {
  if (is_one_task()) B_.resize(X_.rows(), X_.cols());
}

void Attention::set_gains(const Vector& z) {
  formed_ = false;
  if (kind_ == AttentionKind::linear) {
    gains_ = z;
    return;
  }
  const double top = kind_ == AttentionKind::softmax ? z.maxCoeff() : 0.0;
  kernels::exponentials(to_size(z.size()), top, temperature_, z.data(), gains_.data());
}

const double* Attention::attend_block(Index block, Index first, Index contexts, Task& task) {
  if (formed_ && is_one_task()) return B_.data();
  const Index token = block * block_;
  const Index tokens = std::min(block_, X_.cols() - token);
  if (!is_one_task() && task.attended.size() < contexts * tokens)
    task.attended.resize(contexts * tokens);
  double* const b = is_one_task() ? B_.data() : task.attended.data();
  kernels::attend(to_size(contexts), to_size(tokens), gains_.data() + token,
                  columns_from(X_, token, first).data, to_size(X_.rows()), b);
  return b;
}

bool Attention::is_one_task() const { return sums_.cols() == 1 && X_.rows() <= group_; }

void Attention::keep_one() {
  if (!is_one_task()) return;
  for (Index c = 0; c < X_.rows(); ++c)
    if (const Eigen::VectorXd& alone = alone_[to_size(c)]; alone.size() > 0)
      B_.row(c) = alone.transpose();
  formed_ = true;
}

void Attention::sum_block(Index block, Index first, Index contexts, const double* b) {
  kernels::sum_columns(to_size(contexts), to_size(std::min(block_, X_.cols() - block * block_)), b,
                       sums_.col(block).data() + first);
}

void Attention::write_tokens(Index first, Index tokens, double* b) const {
  const Index contexts = X_.rows();
  kernels::scale_columns(to_size(contexts), to_size(tokens), gains_.data() + first,
                         X_.col(first).data(), b);
  if (kind_ != AttentionKind::softmax) return;
  for (Index c = 0; c < contexts; ++c) {
    const Eigen::VectorXd& alone = alone_[to_size(c)];
    for (Index l = 0; l < tokens && alone.size() > 0; ++l) b[l * contexts + c] = alone[first + l];
  }
}

const Eigen::MatrixXd& Attention::unscaled() const {
  if (formed_) return B_;
  B_.resize(X_.rows(), X_.cols());
  workers_.run(to_size(pieces(X_.cols(), kTokens)), to_size(X_.size()), [&](std::size_t task) {
    const Index first = static_cast<Index>(task) * kTokens;
    write_tokens(first, std::min(kTokens, X_.cols() - first), B_.col(first).data());
  });
  formed_ = true;
  return B_;
}

void Attention::set_scales(Index first, Index contexts, const Vector& z) {
  if (kind_ != AttentionKind::softmax) return;
  for (Index c = first; c < first + contexts; ++c) {
    const double sum = sums_.row(c).sum();
    scales_[c] = 1 / sum;
    alone_[to_size(c)].resize(0);
    if (sum < kSmallestSum) attend_alone(c, z);
  }
}

void Attention::attend_alone(Index context, const Vector& z) {
  double top = -std::numeric_limits<double>::infinity();
  for (Index l = 0; l < z.size(); ++l)
    if (X_(context, l) > 0) top = std::max(top, z[l]);
  Eigen::VectorXd& b = alone_[to_size(context)];
  b.resize(z.size());
  double sum = 0;
  for (Index l = 0; l < z.size(); ++l) {
    const double x = X_(context, l);
    b[l] = x > 0 ? x * math::exp((z[l] - top) / temperature_) : 0.0;
    sum += b[l];
  }
  scales_[context] = 1 / sum;
}

void Attention::multiply_block(const Matrix& V, Index block, Index first, Index contexts,
                               const double* b) {
  const Index token = block * block_;
  product_with_transpose(to_size(K_), to_size(contexts),
                         to_size(std::min(block_, X_.cols() - token)), columns_from(V, token),
                         {b, to_size(contexts)}, partial_.col(block * X_.rows() + first).data(),
                         to_size(K_));
}

void Attention::sum_products(const Matrix& V, Index first, Index contexts) {
  double* const sums = partial_.col(first).data();
  for (Index block = 1; block < sums_.cols(); ++block)
    kernels::add(to_size(K_ * contexts), partial_.col(block * X_.rows() + first).data(), sums);
  kernels::scale_columns(to_size(K_), to_size(contexts), scales_.data() + first, sums,
                         products_.col(first).data());
  for (Index c = first; c < first + contexts; ++c)
    if (const Eigen::VectorXd& alone = alone_[to_size(c)]; alone.size() > 0)
      products_.col(c) = V * alone * scales_[c];
}

void Attention::attend(const Vector& z) {
  set_gains(z);
  struct Call {
    Attention& self;
    const Vector& z;
    Tiles tiles;
  } call{*this, z, tiles()};
  workers_.run(to_size(call.tiles.groups), to_size(X_.size()), [&call](std::size_t task) {
    const Index first = static_cast<Index>(task) * call.self.group_;
    const Index contexts = std::min(call.self.group_, call.self.X_.rows() - first);
    const auto scratch = call.self.tasks_.borrow();
    for (Index block = 0; block < call.tiles.blocks; ++block)
      call.self.sum_block(block, first, contexts,
                          call.self.attend_block(block, first, contexts, *scratch));
    call.self.set_scales(first, contexts, call.z);
  });
  keep_one();
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
      return std::min(self.group_, self.X_.rows() - first);
    }
    void multiply(Index block, Index first) const {
      const auto scratch = self.tasks_.borrow();
      const double* const b = self.attend_block(block, first, contexts(first), *scratch);
      if (!attended) self.sum_block(block, first, contexts(first), b);
      self.multiply_block(V, block, first, contexts(first), b);
    }
    void complete(Index first) const {
      if (!attended) self.set_scales(first, contexts(first), z);
      self.sum_products(V, first, contexts(first));
      if (finished) finished(first, contexts(first));
    }
  } call{*this, V, z, finished, attended, tiles()};
  if (call.tiles.blocks == 1) {
    workers_.run(to_size(call.tiles.groups), call.tiles.work, [&call](std::size_t task) {
      call.multiply(0, static_cast<Index>(task) * call.self.group_);
      call.complete(static_cast<Index>(task) * call.self.group_);
    });
    keep_one();
    return;
  }
  // Groups of the same block are consecutive, because they share the block's part of V.
  workers_.run(to_size(call.tiles.blocks * call.tiles.groups), call.tiles.work,
               [&call](std::size_t task) {
                 const auto groups = to_size(call.tiles.groups);
                 call.multiply(static_cast<Index>(task / groups),
                               static_cast<Index>(task % groups) * call.self.group_);
               });
  workers_.run(to_size(call.tiles.groups), to_size(partial_.size()), [&call](std::size_t task) {
    call.complete(static_cast<Index>(task) * call.self.group_);
  });
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
  // Linear attention computes dV/z first, because z itself may be 0.
  double* const moved = add || linear ? task.moved.data() : out;
  const std::size_t contexts = to_size(X_.rows());
  const double* b = (formed_ && !linear ? B_ : X_).col(first).data();
  if (!formed_ && !linear) {
    if (task.attended.size() < X_.rows() * tokens) task.attended.resize(X_.rows() * tokens);
    write_tokens(first, tokens, task.attended.data());
    b = task.attended.data();
  }
  product(nodes, number, contexts, columns_from(weights_, 0), {b, contexts}, moved, nodes);
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
    kernels::dots(contexts, number, b, contexts, pulls_.data(), true, task.pulled.data());
    along -= task.pulled.head(tokens);
  }
  if (!linear) along /= temperature_;
  Eigen::Map<Eigen::VectorXd> velocity(dz + first, tokens);
  if constexpr (add)
    velocity += along;
  else
    velocity = along;
}

void Attention::weigh(const Eigen::MatrixXd& w, Index first, Index contexts) {
  const std::size_t nodes = to_size(K_);
  double* const weights = weights_.col(first).data();
  kernels::scale_columns(nodes, to_size(contexts), scales_.data() + first, w.col(first).data(),
                         weights);
  if (kind_ == AttentionKind::softmax)
    kernels::dots(nodes, to_size(contexts), weights, nodes, products_.col(first).data(), false,
                  pulls_.data() + first);
}

template <bool add>
void Attention::to_velocities(const Matrix& V, const Eigen::MatrixXd& w, double* dV, double* dr,
                              double* dz) {
  struct Call {
    Attention& self;
    const Matrix& V;
    const Eigen::MatrixXd& w;
    double* dV;
    double* dr;
    double* dz;
    Index tokens;

    void sum_to_nodes() const {
      if (!add) std::fill_n(dr, self.K_, 0.0);
      for (Index c = 0; c < w.cols(); ++c) kernels::add(to_size(w.rows()), w.col(c).data(), dr);
    }
  } call{*this, V, w, dV, dr, dz, 0};
  const Index tasks = pieces(X_.cols(), kTokens);
  call.tokens = pieces(pieces(X_.cols(), tasks), 4) * 4;
  const std::size_t work = to_size(X_.size() * K_) / kPerElement;
  workers_.run(to_size(tasks + 1), work, [&call](std::size_t task) {
    if (task == 0) return call.sum_to_nodes();
    const Index first = static_cast<Index>(task - 1) * call.tokens;
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
  const auto b = unscaled().row(context).transpose().array();
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
