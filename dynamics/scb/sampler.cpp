#include "dynamics/scb/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "popflow/error.hpp"

namespace popflow::scb {

AliasTable::AliasTable(const Eigen::Ref<const Eigen::VectorXd>& probabilities) {
  const auto n = static_cast<std::size_t>(probabilities.size());
  threshold_.assign(n, std::numeric_limits<std::uint32_t>::max());
  alias_.resize(n);
  std::iota(alias_.begin(), alias_.end(), std::uint16_t{0});
  // Places hold n p_i each; those with less than 1 are filled up from those with more.
  std::vector<double> share(n);
  std::vector<std::size_t> small, large;
  const double total = probabilities.sum();
  for (std::size_t i = 0; i < n; ++i) {
    share[i] = static_cast<double>(n) * probabilities[static_cast<Eigen::Index>(i)] / total;
    (share[i] < 1 ? small : large).push_back(i);
  }
  while (!small.empty() && !large.empty()) {
    const std::size_t low = small.back();
    const std::size_t high = large.back();
    small.pop_back();
    threshold_[low] = static_cast<std::uint32_t>(std::min(share[low] * 0x1p32, 0x1p32 - 1));
    alias_[low] = static_cast<std::uint16_t>(high);
    share[high] -= 1 - share[low];
    if (share[high] >= 1) continue;
    large.pop_back();
    small.push_back(high);
  }
}

/// What a batch's samples are, sample i in column i.
struct Sampler::Batch {
  Batch(std::size_t size, Eigen::Index N, std::size_t T)
      : query(size),
        target(size),
        tokens(size * T),
        U(Eigen::MatrixXd::Zero(N, static_cast<Eigen::Index>(size))),
        R(N, static_cast<Eigen::Index>(size)),
        Z(N, static_cast<Eigen::Index>(size)) {}
  std::vector<std::uint16_t> query, target;
  std::vector<std::uint16_t> tokens;     ///< T of each sample
  Eigen::MatrixXd U;                     ///< X a_k
  Eigen::MatrixXd R;                     ///< e_y - V X a_k
  Eigen::MatrixXd Z;                     ///< V' R
  std::vector<Eigen::VectorXd> softmax;  ///< a_k of the queries that occur (softmax)
};

namespace {

std::vector<AliasTable> tables(const Eigen::MatrixXd& columns) {
  std::vector<AliasTable> result;
  for (Eigen::Index k = 0; k < columns.cols(); ++k) result.emplace_back(columns.col(k));
  return result;
}

const Problem& countable(const Problem& problem) {
  if (problem.vocabulary() > std::numeric_limits<std::uint16_t>::max())
    throw UsageError("--vocab-size is " + std::to_string(problem.vocabulary()) +
                     "; sampled gradients are for at most 65535 tokens");
  return problem;
}

}  // namespace

Sampler::Sampler(const Problem& problem, Variant variant, Workers& workers)
    : problem_(countable(problem)),
      variant_(variant),
      workers_(workers),
      T_(static_cast<std::size_t>(problem.Q.context_length)),
      tokens_(problem.mu),
      positions_(tables(problem.Q.weight)),
      targets_(tables(problem.P)) {}

void Sampler::draw(const double* A, const SampleKey& key, Batch& batch) const {
  const std::size_t samples = batch.query.size();
  workers_.run(samples, samples * T_, [&](std::size_t i) {
    RandomStream random = key.stream(i);
    std::uint16_t* tokens = batch.tokens.data() + i * T_;
    // Two draws from each word.
    const std::uint64_t first = random();
    const std::size_t k = tokens_.draw(static_cast<std::uint32_t>(first));
    const auto column = static_cast<Eigen::Index>(k);
    const std::uint16_t slot = positions_[k].draw(static_cast<std::uint32_t>(first >> 32));
    const std::uint64_t second = random();
    std::size_t t = 0;
    for (; t + 2 <= T_; t += 2) {
      const std::uint64_t word = random();
      tokens[t] = tokens_.draw(static_cast<std::uint32_t>(word));
      tokens[t + 1] = tokens_.draw(static_cast<std::uint32_t>(word >> 32));
    }
    if (t < T_) tokens[t] = tokens_.draw(static_cast<std::uint32_t>(random()));
    batch.query[i] = static_cast<std::uint16_t>(k);
    const auto s = static_cast<std::size_t>(problem_.Q.position(slot, column));
    batch.target[i] = targets_[tokens[s]].draw(static_cast<std::uint32_t>(second));
  });

  if (variant_.softmax) {
    batch.softmax.resize(static_cast<std::size_t>(problem_.vocabulary()));
    std::vector<bool> occurs(batch.softmax.size());
    for (const std::uint16_t k : batch.query) occurs[k] = true;
    workers_.run(batch.softmax.size(), batch.softmax.size() * T_, [&](std::size_t k) {
      if (!occurs[k]) return;
      const Eigen::Map<const Eigen::ArrayXd> w(A + k * T_, static_cast<Eigen::Index>(T_));
      const Eigen::ArrayXd e = (w - w.maxCoeff()).exp();
      batch.softmax[k] = (e / e.sum()).matrix();
    });
  }
  workers_.run(samples, samples * T_,
               [&](std::size_t i) { forward(A, static_cast<Eigen::Index>(i), batch); });
}

void Sampler::forward(const double* A, Eigen::Index i, Batch& batch) const {
  const auto at = static_cast<std::size_t>(i);
  const std::uint16_t* tokens = batch.tokens.data() + at * T_;
  const std::size_t k = batch.query[at];
  const bool softmax = variant_.softmax;
  const double* a = softmax ? batch.softmax[k].data() : A + k * T_;
  const double base = softmax ? 0 : 1 / static_cast<double>(T_);
  double* u = batch.U.col(i).data();
  for (std::size_t t = 0; t < T_; ++t) u[tokens[t]] += base + a[t];
}

void Sampler::add_attention(std::span<const double> weights, const Batch& batch, double* dA) const {
  // Column by column, a column's samples in their order: no two threads write to one column, and
  // the sum's order is fixed.
  const auto N = static_cast<std::size_t>(problem_.vocabulary());
  std::vector<std::vector<std::size_t>> of_query(N);
  for (std::size_t i = 0; i < batch.query.size(); ++i) of_query[batch.query[i]].push_back(i);
  workers_.run(N, batch.query.size() * T_, [&](std::size_t k) {
    double* out = dA + k * T_;
    for (const std::size_t i : of_query[k]) {
      const std::uint16_t* tokens = batch.tokens.data() + i * T_;
      const auto column = static_cast<Eigen::Index>(i);
      Eigen::VectorXd z = batch.Z.col(column);
      const double weight = variant_.inverse_frequency
                                ? weights[i] / problem_.mu[static_cast<Eigen::Index>(k)]
                                : weights[i];
      if (variant_.softmax) {
        // (diag(a) - a a') X'z = a o (X'z - u'z)
        z.array() -= batch.U.col(column).dot(batch.Z.col(column));
        z *= weight;
        const double* a = batch.softmax[k].data();
        for (std::size_t t = 0; t < T_; ++t) out[t] += a[t] * z[tokens[t]];
        continue;
      }
      if (variant_.project) {
        double sum = 0;
        for (std::size_t t = 0; t < T_; ++t) sum += z[tokens[t]];
        z.array() -= sum / static_cast<double>(T_);
      }
      z *= weight;
      for (std::size_t t = 0; t < T_; ++t) out[t] += z[tokens[t]];
    }
  });
}

void Sampler::add(const Eigen::MatrixXd& V, const double* A, const SampleKey& key,
                  std::span<const double> weights, double* dV, double* dA) const {
  const Eigen::Index N = problem_.vocabulary();
  Batch batch(weights.size(), N, T_);
  draw(A, key, batch);

  // A few columns a task: the products have the same bits on any number of threads.
  constexpr Eigen::Index kColumns = 16;
  const auto size = static_cast<Eigen::Index>(weights.size());
  const auto tasks = static_cast<std::size_t>((size + kColumns - 1) / kColumns);
  workers_.run(tasks, static_cast<std::size_t>(2 * N * N * size), [&](std::size_t task) {
    const Eigen::Index first = static_cast<Eigen::Index>(task) * kColumns;
    const Eigen::Index count = std::min(kColumns, size - first);
    auto R = batch.R.middleCols(first, count);
    R.noalias() = -(V * batch.U.middleCols(first, count));
    for (Eigen::Index i = 0; i < count; ++i) R(batch.target[first + i], i) += 1;
    batch.Z.middleCols(first, count).noalias() = V.transpose() * R;
  });

  Eigen::MatrixXd weighted = batch.R;
  for (Eigen::Index i = 0; i < size; ++i) weighted.col(i) *= weights[static_cast<std::size_t>(i)];
  Eigen::MatrixXd inputs = batch.U;
  if (variant_.inverse_frequency) inputs.array().colwise() /= problem_.mu.array();
  const auto column_tasks = static_cast<std::size_t>((N + kColumns - 1) / kColumns);
  Eigen::Map<Eigen::MatrixXd> out(dV, N, N);
  workers_.run(column_tasks, static_cast<std::size_t>(N * N * size), [&](std::size_t task) {
    const Eigen::Index first = static_cast<Eigen::Index>(task) * kColumns;
    const Eigen::Index count = std::min(kColumns, N - first);
    out.middleCols(first, count).noalias() +=
        weighted * inputs.middleRows(first, count).transpose();
  });
  add_attention(weights, batch, dA);
}

}  // namespace popflow::scb
