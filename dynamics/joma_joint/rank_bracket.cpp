#include "dynamics/joma_joint/rank_bracket.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "dynamics/common/products.hpp"
#include "dynamics/joma_joint/kernels.hpp"
#include "dynamics/joma_joint/spectrum.hpp"
#include "numerics/linear_algebra.hpp"
#include "popflow/math.hpp"

namespace popflow::joma_joint {
namespace {

using Eigen::Index;

constexpr Index kDirections = 4;
// Largest number of nodes for which a reference's directions are found within milliseconds; and the
// number of tokens per node from which bounds are cheaper than a Gram matrix.
constexpr Index kMostNodes = 256;
constexpr Index kTokensOfNode = 8;
// Number of tokens treated together, so that they stay in the first-level cache; and the number of
// tokens per task.
constexpr Index kTokensTogether = 16;
constexpr Index kTokensOfSums = 64;
// Rounding error of sums of this many products, and of eigenvectors.
constexpr double kBracketRounding = 1e-11;
constexpr int kLongestPause = 1024;

Index parts_of(Index tokens) { return (tokens + kTokensOfSums - 1) / kTokensOfSums; }

/// Number of answers that save as much as a reference costs.
int answers_to_pay(Index nodes) { return nodes <= kSmallSide ? 16 : static_cast<int>(nodes / 2); }

/// First eigenvalue of the symmetric matrix a, b; b, d.
double first_of_pair(double a, double b, double d) {
  return (a + d) / 2 + math::hypot((a - d) / 2, b);
}

}  // namespace

bool RankBracket::pays(const Attention::Matrix& V) {
  const Index tokens = (V.rows() <= kSmallSide ? kTokensOfNode : 1) * V.rows();
  return V.rows() > 2 * kDirections && V.rows() <= kMostNodes && V.cols() >= tokens;
}

bool RankBracket::seems_near(const Attention::Matrix& V) const {
  if (reference_.rows() != V.rows() || reference_.cols() != V.cols()) return false;
  const double moved =
      (V.col(0) - reference_.col(0)).norm() * std::sqrt(static_cast<double>(V.cols()));
  return rest_ + moved < first_;
}

std::optional<RankBracket::Bounds> RankBracket::at(const Attention::Matrix& V, Workers& workers) {
  if (!seems_near(V)) return std::nullopt;
  const std::size_t K = to_size(V.rows());
  const Index q = U_.cols();
  const Index parts = parts_of(V.cols());
  products_.resize(V.rows() * q, parts);
  squares_.resize(2, parts);
  const Eigen::MatrixXd transposed = U_.transpose();
  workers.run(to_size(parts), to_size(V.size()), [&](std::size_t task) {
    const Index part = static_cast<Index>(task);
    double* const products = products_.col(part).data();
    std::fill_n(products, K * to_size(q), 0.0);
    double squares = 0;
    double moved = 0;
    std::array<double, kTokensTogether * kDirections> along;
    const Index end = std::min((part + 1) * kTokensOfSums, V.cols());
    for (Index first = part * kTokensOfSums; first < end; first += kTokensTogether) {
      const std::size_t tokens = to_size(std::min(kTokensTogether, end - first));
      const double* const v = V.col(first).data();
      squares += kernels::dot(K * tokens, v, v);
      moved += kernels::squared_distance(K * tokens, v, reference_.col(first).data());
      product(to_size(q), tokens, K, {transposed.data(), to_size(q)}, {v, K}, along.data(),
              to_size(q));
      add_product_with_transpose(K, to_size(q), tokens, {v, K}, {along.data(), to_size(q)},
                                 products, K);
    }
    squares_.col(part) << squares, moved;
  });
  Eigen::VectorXd sum = products_.col(0);
  for (Index part = 1; part < parts; ++part) sum += products_.col(part);
  const Eigen::Map<const Eigen::MatrixXd> GU(sum.data(), V.rows(), q);
  const Eigen::MatrixXd T = U_.transpose() * GU;
  const double mu = symmetric_eigenvalues(T)[q - 1];
  const double beside = (GU - U_ * T).norm();
  const double beta = math::pow(rest_ + std::sqrt(squares_.row(1).sum()), 2);
  const double squares = squares_.row(0).sum();
  if (!(beta < mu && std::isfinite(squares))) return std::nullopt;
  return Bounds{squares / first_of_pair(mu, beside, beta) * (1 - kBracketRounding),
                squares / mu * (1 + kBracketRounding)};
}

void RankBracket::make_reference(const Attention::Matrix& V, Workers& workers) {
  if (wait_ > 0) {
    --wait_;
    return;
  }
  // The pause doubles after each reference that answered few questions.
  const bool useful = reference_.size() == 0 || answers_ >= answers_to_pay(V.rows());
  pause_ = useful ? 0 : std::min(2 * pause_ + answers_to_pay(V.rows()), kLongestPause);
  wait_ = pause_;
  move_to(V, workers);
}

void RankBracket::move_to(const Attention::Matrix& V, Workers& workers) {
  reference_ = V;
  answers_ = 0;
  const auto [values, vectors] = symmetric_eigen(gram_of_rows(V, workers));
  const Index others = values.size() - kDirections;
  U_ = vectors.rightCols(kDirections);
  first_ = std::sqrt(values[values.size() - 1]);
  rest_ =
      std::sqrt(std::max(values[others - 1], 0.0) + kBracketRounding * values[values.size() - 1]);
}

}  // namespace popflow::joma_joint
