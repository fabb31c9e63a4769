#include "dynamics/scb/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "dynamics/common/array_math.hpp"
#include "machine/streaming.hpp"
#include "popflow/error.hpp"
#include "random/bits.hpp"

namespace popflow::scb {

/// Samples of a batch, sample i in column i.
struct Sampler::Batch {
  void resize(std::size_t samples, Eigen::Index N, std::size_t T) {
    query.resize(samples);
    target.resize(samples);
    slot.resize(samples);
    target_word.resize(samples);
    tokens.resize(samples * T);
    const auto columns = static_cast<Eigen::Index>(samples);
    for (Eigen::MatrixXd* matrix : {&counts, &U, &R, &Z}) matrix->resize(N, columns);
    order.resize(samples);
    first.resize(static_cast<std::size_t>(N) + 1);
  }
  std::vector<std::uint16_t> query, target, slot;
  std::vector<std::uint32_t> target_word;
  std::vector<std::uint16_t> tokens;     ///< T per sample
  Eigen::MatrixXd counts;                ///< X 1
  Eigen::MatrixXd U;                     ///< X a_k
  Eigen::MatrixXd R;                     ///< e_y - V X a_k
  Eigen::MatrixXd Z;                     ///< V' R, then the contributions of each token
  std::vector<Eigen::VectorXd> softmax;  ///< a_k of the queries that occur (softmax)
  std::vector<std::size_t> order;        ///< samples sorted by query, otherwise in order
  std::vector<std::size_t> first;        ///< start of each query's samples in `order`
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
                     "; sampled gradients are possible for at most 65535 tokens");
  if (problem.Q.slots() > AliasTable::kMost)
    throw UsageError("a query has " + std::to_string(problem.Q.slots()) +
                     " relevant positions (--sparsity); sampled gradients are possible for at "
                     "most 65536");
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

Sampler::~Sampler() = default;

void Sampler::draw_queries(const SampleKey& key, Batch& batch) const {
  for (std::size_t i = 0; i < batch.query.size(); ++i) {
    std::uint32_t word[4];
    stream_words({key.seed, key.purpose, key.run, key.first + i}, 0, 1, word);
    batch.query[i] = tokens_.draw(word[0]);
    batch.slot[i] = positions_[batch.query[i]].draw(word[1]);
    batch.target_word[i] = word[2];
  }
  // Stable counting sort by query.
  std::fill(batch.first.begin(), batch.first.end(), std::size_t{0});
  for (const std::uint16_t k : batch.query) ++batch.first[k + 1U];
  std::partial_sum(batch.first.begin(), batch.first.end(), batch.first.begin());
  for (std::size_t i = batch.query.size(); i-- > 0;)
    batch.order[--batch.first[batch.query[i] + 1U]] = i;
  // first[k + 1] was decremented to the start of query k's samples.
  std::copy(batch.first.begin() + 1, batch.first.end(), batch.first.begin());
  batch.first.back() = batch.query.size();
}

void Sampler::find_softmax(const double* A, Batch& batch) const {
  if (!variant_.softmax) return;
  batch.softmax.resize(static_cast<std::size_t>(problem_.vocabulary()));
  workers_.run(batch.softmax.size(), batch.softmax.size() * T_, [&](std::size_t k) {
    if (batch.first[k] == batch.first[k + 1]) return;
    Eigen::VectorXd& a = batch.softmax[k];
    a.resize(static_cast<Eigen::Index>(T_));
    write_relative_weights(A + k * T_, a.size(), a.data());
    a /= a.sum();
  });
}

namespace {

/// Sum of the attention over the positions of each token, and their number. Keeps several partial
/// sums, because successive additions to the same place must wait for each other.
class AttendedTokens {
 public:
  void start(std::size_t vocabulary) {
    copies_ = vocabulary <= 512 ? 4 : 1;
    sums_.assign(copies_ * vocabulary, Pair{});
  }
  void add(const std::uint16_t* tokens, const double* a, std::size_t n) {
    if (copies_ == 4)
      add<4>(tokens, a, n);
    else
      add<1>(tokens, a, n);
  }
  [[nodiscard]] Pair of(std::size_t token) const {
    Pair total = sums_[token * copies_];
    for (std::size_t copy = 1; copy < copies_; ++copy) total += sums_[token * copies_ + copy];
    return total;
  }

 private:
  template <std::size_t copies>
  void add(const std::uint16_t* tokens, const double* a, std::size_t n) {
    Pair* sums = sums_.data();
    std::size_t t = 0;
    for (; t + copies <= n; t += copies)
      for (std::size_t copy = 0; copy < copies; ++copy)
        sums[tokens[t + copy] * copies + copy] += Pair{a[t + copy], 1};
    for (; t < n; ++t) sums[tokens[t] * copies] += Pair{a[t], 1};
  }
  std::size_t copies_ = 1;
  std::vector<Pair> sums_;
};

}  // namespace

void Sampler::draw(const double* A, const SampleKey& key, std::size_t i, Batch& batch) const {
  const PhiloxKey stream(key.seed, key.purpose, key.run, key.first + i);
  const auto N = static_cast<std::size_t>(problem_.vocabulary());
  std::uint16_t* tokens = batch.tokens.data() + i * T_;
  const std::size_t k = batch.query[i];
  const double* a = variant_.softmax ? batch.softmax[k].data() : A + k * T_;
  thread_local AttendedTokens attended;
  attended.start(N);
  // Works in pieces, so that words and tokens stay in the first-level cache.
  constexpr std::size_t kPiece = 1024;
  std::uint32_t words[kPiece];
  for (std::size_t begin = 0; begin < T_; begin += kPiece) {
    const std::size_t count = std::min(kPiece, T_ - begin);
    stream_words(stream, 1 + begin / 4, (count + 3) / 4, words);
    tokens_.draw(count, words, tokens + begin);
    attended.add(tokens + begin, a + begin, count);
  }
  const double base = variant_.softmax ? 0 : 1 / static_cast<double>(T_);
  const auto column = static_cast<Eigen::Index>(i);
  for (std::size_t n = 0; n < N; ++n) {
    const Pair sums = attended.of(n);
    const auto row = static_cast<Eigen::Index>(n);
    batch.counts(row, column) = sums[1];
    batch.U(row, column) = sums[0] + base * sums[1];
  }
  const auto s =
      static_cast<std::size_t>(problem_.Q.position(batch.slot[i], static_cast<Eigen::Index>(k)));
  batch.target[i] = targets_[tokens[s]].draw(batch.target_word[i]);
}

void Sampler::multiply(const Eigen::MatrixXd& V, std::span<const double> weights, double* dV,
                       Batch& batch) const {
  // Columns per task: the products have the same bits for any number of threads.
  constexpr Eigen::Index kColumns = 16;
  const Eigen::Index N = problem_.vocabulary();
  const auto size = static_cast<Eigen::Index>(weights.size());
  const auto tasks = static_cast<std::size_t>((size + kColumns - 1) / kColumns);
  workers_.run(tasks, static_cast<std::size_t>(2 * N * N * size), [&](std::size_t task) {
    const Eigen::Index first = static_cast<Eigen::Index>(task) * kColumns;
    const Eigen::Index count = std::min(kColumns, size - first);
    auto R = batch.R.middleCols(first, count);
    R.noalias() = -(V * batch.U.middleCols(first, count));
    for (Eigen::Index i = 0; i < count; ++i)
      R(batch.target[static_cast<std::size_t>(first + i)], i) += 1;
    batch.Z.middleCols(first, count).noalias() = V.transpose() * R;
  });
  find_gains(weights, batch);

  // R and U contain the weights from here on.
  for (Eigen::Index i = 0; i < size; ++i) batch.R.col(i) *= weights[static_cast<std::size_t>(i)];
  if (variant_.inverse_frequency) batch.U.array().colwise() /= problem_.mu.array();
  const auto column_tasks = static_cast<std::size_t>((N + kColumns - 1) / kColumns);
  Eigen::Map<Eigen::MatrixXd> out(dV, N, N);
  workers_.run(column_tasks, static_cast<std::size_t>(N * N * size), [&](std::size_t task) {
    const Eigen::Index first = static_cast<Eigen::Index>(task) * kColumns;
    const Eigen::Index count = std::min(kColumns, N - first);
    out.middleCols(first, count).noalias() +=
        batch.R * batch.U.middleRows(first, count).transpose();
  });
}

void Sampler::find_gains(std::span<const double> weights, Batch& batch) const {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto column = static_cast<Eigen::Index>(i);
    auto z = batch.Z.col(column);
    if (variant_.softmax)  // (diag(a) - a a') X'z = a o (X'z - u'z)
      z.array() -= batch.U.col(column).dot(z);
    else if (variant_.project)
      z.array() -= batch.counts.col(column).dot(z) / static_cast<double>(T_);
    z *= variant_.inverse_frequency ? weights[i] / problem_.mu[batch.query[i]] : weights[i];
  }
}

namespace {

/// out += sum over `count` samples of gains[x_t].
template <std::size_t count>
void add_gains(const std::uint16_t* const* tokens, const double* const* gains, const double* a,
               double* out, std::size_t n) {
  for (std::size_t t = 0; t < n; ++t) {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += gains[i][tokens[i][t]];
    out[t] += a == nullptr ? sum : a[t] * sum;
  }
}

}  // namespace

void Sampler::add_attention(const Batch& batch, double* dA) const {
  // Each task adds a range of columns, with each column's samples in order, four at a time. So no
  // two threads write to the same place, and the order of summation is fixed.
  constexpr std::size_t kStretch = 4096;
  constexpr std::size_t kTogether = 4;
  const auto N = static_cast<std::size_t>(problem_.vocabulary());
  const std::size_t stretches = (T_ + kStretch - 1) / kStretch;
  workers_.run(N * stretches, batch.query.size() * T_, [&](std::size_t task) {
    const std::size_t k = task / stretches;
    const std::size_t begin = task % stretches * kStretch;
    const std::size_t n = std::min(kStretch, T_ - begin);
    double* out = dA + k * T_ + begin;
    const double* a = variant_.softmax ? batch.softmax[k].data() + begin : nullptr;
    for (std::size_t at = batch.first[k]; at < batch.first[k + 1]; at += kTogether) {
      const std::size_t now = std::min(kTogether, batch.first[k + 1] - at);
      const std::uint16_t* tokens[kTogether];
      const double* gains[kTogether];
      for (std::size_t i = 0; i < now; ++i) {
        const std::size_t sample = batch.order[at + i];
        tokens[i] = batch.tokens.data() + sample * T_ + begin;
        gains[i] = batch.Z.col(static_cast<Eigen::Index>(sample)).data();
      }
      switch (now) {
        case 1:
          add_gains<1>(tokens, gains, a, out, n);
          break;
        case 2:
          add_gains<2>(tokens, gains, a, out, n);
          break;
        case 3:
          add_gains<3>(tokens, gains, a, out, n);
          break;
        default:
          add_gains<4>(tokens, gains, a, out, n);
      }
    }
  });
}

void Sampler::add(const Eigen::MatrixXd& V, const double* A, const SampleKey& key,
                  std::span<const double> weights, double* dV, double* dA) const {
  const auto batch = batches_.borrow();
  batch->resize(weights.size(), problem_.vocabulary(), T_);
  draw_queries(key, *batch);
  find_softmax(A, *batch);
  workers_.run(weights.size(), weights.size() * T_,
               [&](std::size_t i) { draw(A, key, i, *batch); });
  multiply(V, weights, dV, *batch);
  add_attention(*batch, dA);
}

}  // namespace popflow::scb
