#include "dynamics/joma_joint/sampler.hpp"

#include <algorithm>
#include <boost/random/binomial_distribution.hpp>
#include <cmath>
#include <limits>
#include <utility>

#include "dynamics/common/products.hpp"
#include "random/bits.hpp"

namespace popflow::joma_joint {
namespace {

using Eigen::Index;

// Task sizes: constants, so that sums have the same order on any number of threads.
constexpr std::size_t kSamples = 8;  ///< drawn by one task
constexpr Index kTokens = 128;       ///< whose velocities one task sums

// Of random words, drawn at a time.
constexpr std::uint64_t kBlocks = 512;

// A binomial variate costs as much as this many draws of a token.
constexpr std::int64_t kBinomial = 16;

std::size_t count(Index n) { return static_cast<std::size_t>(n); }

bool long_contexts(std::int64_t length, Index tokens) { return length / kBinomial > tokens; }

std::vector<DiscreteDistribution> token_tables(const Problem& problem, std::int64_t length) {
  std::vector<DiscreteDistribution> tables;
  if (long_contexts(length, problem.tokens())) return tables;
  for (Index c = 0; c < problem.classes(); ++c)
    tables.emplace_back(std::span(problem.X.col(c).data(), count(problem.tokens())));
  return tables;
}

Eigen::MatrixXd conditional_shares(const Problem& problem, std::int64_t length) {
  if (!long_contexts(length, problem.tokens())) return {};
  Eigen::MatrixXd conditional = problem.X;
  for (auto column : conditional.colwise()) {
    double rest = 0;
    for (Index l = column.size() - 1; l >= 0; --l) {
      const double share = column[l];
      rest += share;
      column[l] = share > 0 ? share / rest : 0;
    }
  }
  return conditional;
}

}  // namespace

/// Entries (sample, token) of the contexts of a batch.
struct Sampler::Batch {
  Batch(Index nodes, Index tokens) : w(nodes, 0), offset(count(tokens) + 1) {}

  void resize(std::size_t samples, std::size_t entries_a_sample) {
    room = entries_a_sample;
    distinct.resize(samples);
    token.resize(samples * room);
    value.resize(samples * room);
    if (w.cols() != static_cast<Index>(samples)) w.resize(w.rows(), static_cast<Index>(samples));
    s.resize(static_cast<Index>(samples));
  }

  // Sample by sample, in places i * room on.
  std::size_t room = 0;
  std::vector<std::size_t> distinct;  ///< entries of each sample
  std::vector<std::uint32_t> token;
  std::vector<double> value;  ///< b_l, or with linear attention the share of the token
  Eigen::MatrixXd w;          ///< weight g phi', K x samples
  Eigen::VectorXd s;          ///< w' (h - r)

  // Token by token, samples in their order.
  std::vector<std::size_t> offset;
  std::vector<std::uint32_t> sample_of;
  std::vector<double> value_of;
};

/// Working space for one sample.
struct Sampler::Task {
  Task(Index nodes, Index tokens) : times(count(tokens), 0), h(nodes), phi(nodes), g(nodes) {}
  Index of_class = 0;
  std::vector<std::int64_t> times;     ///< of each token; zero between samples
  std::vector<std::uint32_t> present;  ///< tokens of the context
  std::vector<std::uint32_t> words;    ///< random bits, at most kBlocks blocks
  Eigen::ArrayXd shares, gains;        ///< of those
  Eigen::VectorXd h, phi, g;
};

Sampler::Sampler(const Problem& problem, AttentionKind kind, double temperature, Outputs outputs,
                 std::int64_t context_length, Workers& workers)
    : kind_(kind),
      temperature_(temperature),
      outputs_(std::move(outputs)),
      length_(context_length),
      workers_(workers),
      M_(problem.tokens()),
      K_(problem.nodes()),
      classes_(std::span(problem.p.data(), count(problem.p.size()))),
      tokens_(token_tables(problem, context_length)),
      conditional_(conditional_shares(problem, context_length)),
      batches_([this] { return std::make_unique<Batch>(K_, M_); }),
      tasks_([this] { return std::make_unique<Task>(K_, M_); }) {}

Sampler::~Sampler() = default;

void Sampler::draw_tokens(const SampleKey& key, std::size_t i, Task& task) const {
  // The stream's words, many at once: the first is for the class, each other one for a token.
  const PhiloxKey stream(key.seed, key.purpose, key.run, key.first + i);
  const std::uint64_t blocks = static_cast<std::uint64_t>(length_) / 2 + 1;
  const auto room = static_cast<std::size_t>(std::min(blocks, kBlocks));
  if (task.words.size() < 4 * room) task.words.resize(4 * room);
  task.present.resize(static_cast<std::size_t>(std::min<std::int64_t>(length_, M_)) + 1);
  const auto word = [&](std::size_t n) {
    return std::uint64_t{task.words[2 * n + 1]} << 32 | task.words[2 * n];
  };
  const DiscreteDistribution* tokens = nullptr;
  std::size_t distinct = 0;
  std::int64_t left = length_;
  for (std::uint64_t first = 0; first < blocks; first += kBlocks) {
    const auto here = static_cast<std::size_t>(std::min(blocks - first, kBlocks));
    stream_words(stream, first, here, task.words.data());
    std::size_t n = 0;
    if (first == 0) {
      task.of_class = static_cast<Index>(classes_(word(n++)));
      tokens = &tokens_[count(task.of_class)];
    }
    for (; n < 2 * here && left > 0; ++n, --left) {
      const std::uint32_t token = (*tokens)(word(n));
      task.present[distinct] = token;  // kept if it is new
      distinct += task.times[token]++ == 0;
    }
  }
  task.present.resize(distinct);
}

void Sampler::draw(const SampleKey& key, std::size_t i, Task& task) const {
  if (!tokens_.empty()) {
    draw_tokens(key, i, task);
  } else {
    // The numbers of all tokens, one after the other given those before.
    RandomStream random = key.stream(i);
    task.present.clear();
    task.of_class = static_cast<Index>(classes_(random()));
    std::int64_t left = length_;
    for (Index l = 0; l < M_ && left > 0; ++l) {
      const double share = conditional_(l, task.of_class);
      if (!(share > 0)) continue;
      const std::int64_t times =
          share < 1 ? boost::random::binomial_distribution<std::int64_t>(left, share)(random)
                    : left;
      if (times == 0) continue;
      left -= times;
      task.times[count(l)] = times;
      task.present.push_back(static_cast<std::uint32_t>(l));
    }
  }
  const auto size = static_cast<Index>(task.present.size());
  if (task.shares.size() < size) {
    task.shares.resize(std::min<std::int64_t>(length_, M_));
    task.gains.resize(task.shares.size());
  }
  for (Index j = 0; j < size; ++j) {
    std::int64_t& times = task.times[task.present[count(j)]];
    task.shares[j] = static_cast<double>(times) / static_cast<double>(length_);
    times = 0;
  }
}

void Sampler::forward(const Point& at, double weight, std::size_t i, Task& task,
                      Batch& batch) const {
  const auto size = static_cast<Index>(task.present.size());
  const auto shares = task.shares.head(size);
  auto gains = task.gains.head(size);
  for (Index j = 0; j < size; ++j) gains[j] = at.z[task.present[count(j)]];
  if (kind_ == AttentionKind::softmax) gains -= gains.maxCoeff();
  if (kind_ != AttentionKind::linear) gains = (gains / temperature_).exp();
  gains *= shares;  // b
  if (kind_ == AttentionKind::softmax) gains /= gains.sum();

  task.h = at.r;
  add_columns(count(K_), task.present.size(), task.present.data(), gains.data(),
              {at.V.data(), count(K_)}, task.h.data());
  for (Index k = 0; k < K_; ++k) task.phi[k] = outputs_.value(task.h[k]);
  outputs_.gradient(task.of_class, task.phi, task.g);
  const auto column = static_cast<Index>(i);
  double s = 0;
  for (Index k = 0; k < K_; ++k) {
    const double w = weight * task.g[k] * outputs_.slope(task.h[k]);
    batch.w(k, column) = w;
    s += w * (task.h[k] - at.r[k]);
  }
  batch.s[column] = s;
  batch.distinct[i] = task.present.size();
  std::copy(task.present.begin(), task.present.end(),
            batch.token.begin() + static_cast<std::ptrdiff_t>(i * batch.room));
  const double* values = kind_ == AttentionKind::linear ? shares.data() : gains.data();
  std::copy(values, values + size,
            batch.value.begin() + static_cast<std::ptrdiff_t>(i * batch.room));
}

void Sampler::sort_by_token(Batch& batch) {
  std::fill(batch.offset.begin(), batch.offset.end(), std::size_t{0});
  for (std::size_t i = 0; i < batch.distinct.size(); ++i)
    for (std::size_t j = i * batch.room; j < i * batch.room + batch.distinct[i]; ++j)
      ++batch.offset[batch.token[j]];
  // From numbers to ends, which filling from the back turns into beginnings.
  for (std::size_t l = 1; l < batch.offset.size(); ++l) batch.offset[l] += batch.offset[l - 1];
  if (batch.sample_of.size() < batch.offset.back()) {
    batch.sample_of.resize(batch.offset.back());
    batch.value_of.resize(batch.offset.back());
  }
  for (std::size_t i = batch.distinct.size(); i-- > 0;)
    for (std::size_t j = i * batch.room; j < i * batch.room + batch.distinct[i]; ++j) {
      const std::size_t place = --batch.offset[batch.token[j]];
      batch.sample_of[place] = static_cast<std::uint32_t>(i);
      batch.value_of[place] = batch.value[j];
    }
}

void Sampler::backward(const Point& at, const Batch& batch, Index first, const Velocity& into,
                       Task& task) const {
  Eigen::Map<Eigen::MatrixXd> dV(into.V, K_, M_);
  Eigen::VectorXd& sum = task.g;
  for (Index l = first; l < std::min(first + kTokens, M_); ++l) {
    const std::size_t begin = batch.offset[count(l)];
    const std::size_t end = batch.offset[count(l) + 1];
    if (begin == end) continue;
    sum.setZero();
    double mean = 0;  // of v_l' w over the tokens of each context
    add_columns(count(K_), end - begin, batch.sample_of.data() + begin,
                batch.value_of.data() + begin, {batch.w.data(), count(K_)}, sum.data());
    for (std::size_t j = begin; j < end; ++j)
      mean += batch.value_of[j] * batch.s[batch.sample_of[j]];
    const double along = at.V.col(l).dot(sum);
    switch (kind_) {
      case AttentionKind::linear:
        dV.col(l) += at.z[l] * sum;
        into.z[l] += along;
        break;
      case AttentionKind::exponential:
        dV.col(l) += sum;
        into.z[l] += along / temperature_;
        break;
      case AttentionKind::softmax:
        dV.col(l) += sum;
        into.z[l] += (along - mean) / temperature_;
        break;
    }
  }
}

void Sampler::add(const Point& at, const SampleKey& key, std::span<const double> weights,
                  const Velocity& into) const {
  const auto loan = batches_.borrow();
  Batch& batch = *loan;
  const std::size_t samples = weights.size();
  batch.resize(samples, static_cast<std::size_t>(std::min<std::int64_t>(length_, M_)));
  const auto draws = static_cast<std::size_t>(std::min(length_, kBinomial * M_));
  const std::size_t products = batch.room * count(K_);
  workers_.run((samples + kSamples - 1) / kSamples, samples * (4 * draws + products),
               [&](std::size_t task) {
                 const auto in = tasks_.borrow();
                 const std::size_t end = std::min(samples, (task + 1) * kSamples);
                 for (std::size_t i = task * kSamples; i < end; ++i) {
                   draw(key, i, *in);
                   forward(at, weights[i], i, *in, batch);
                 }
               });
  sort_by_token(batch);
  workers_.run(count((M_ + kTokens - 1) / kTokens), batch.offset.back() * count(K_),
               [&](std::size_t task) {
                 const auto in = tasks_.borrow();
                 backward(at, batch, static_cast<Index>(task) * kTokens, into, *in);
               });
  Eigen::Map<Eigen::VectorXd> dr(into.r, K_);
  for (std::size_t i = 0; i < samples; ++i) dr += batch.w.col(static_cast<Index>(i));
}

}  // namespace popflow::joma_joint
