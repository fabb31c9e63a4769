#include "dynamics/topic/population.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "popflow/error.hpp"
#include "popflow/parameter.hpp"

namespace popflow::topic {

namespace {

constexpr Eigen::Index kQueries = 8;  // of a task

double binomial(double n, double k) {
  double result = 1;
  k = std::min(k, n - k);
  for (double i = 1; i <= k && std::isfinite(result); ++i) result *= (n - k + i) / i;
  return std::round(result);
}

/// All subsets of `count` of `n` topics, in lexicographic order.
std::vector<std::int32_t> all_sets(std::int32_t n, std::int32_t count) {
  std::vector<std::int32_t> all;
  std::vector<std::int32_t> set(static_cast<std::size_t>(count));
  std::iota(set.begin(), set.end(), 0);
  for (;;) {
    all.insert(all.end(), set.begin(), set.end());
    std::int32_t i = count - 1;
    while (i >= 0 && set[static_cast<std::size_t>(i)] == n - count + i) --i;
    if (i < 0) return all;
    std::int32_t next = set[static_cast<std::size_t>(i)];
    for (; i < count; ++i) set[static_cast<std::size_t>(i)] = ++next;
  }
}

const Data& enumerable(const Data& data) {
  const double sets = binomial(data.T(), data.tau());
  if (sets <= Population::most_sets) return data;
  throw UsageError("--topics " + std::to_string(data.topics) + " with --topics-per-document " +
                   std::to_string(data.topics_per_document) + " makes " + shortest(sets) +
                   " sets of topics; the population loss of full matrices goes through all of "
                   "them, and is for at most " +
                   std::to_string(static_cast<std::int64_t>(Population::most_sets)));
}

}  // namespace

struct Population::Whole {
  void resize(const Sizes& size) {
    E.resize(size.symbols, size.symbols);
    sums.resize(size.topics, size.symbols);
    slabs.resize(size.words * size.symbols, size.topics + 1);
    losses.resize(size.symbols);
    by_sums.resize(size.topics + 1, size.symbols);
  }
  Eigen::MatrixXd E;     ///< exp(Lambda), each column up to a factor; 0 for keys that never occur
  Eigen::MatrixXd sums;  ///< s_t of each query
  /// Column t: g_t of all queries, n x (n+1), then the derivatives by them; the last: by b.
  Eigen::MatrixXd slabs;
  Eigen::VectorXd losses;   ///< of each query
  Eigen::MatrixXd by_sums;  ///< derivatives by s_t, and by the mask's part of the sum
};

struct Population::Local {
  void resize(const Sizes& size) {
    g.resize(size.words, size.topics);
    b.resize(size.words);
    by_b.resize(size.words);
    for (Eigen::MatrixXd* m : {&inner, &topic_sums, &by_inner, &by_topic_sums})
      m->resize(size.topics, size.topics);
    for (Eigen::VectorXd* m : {&b_inner, &b_sums, &by_s, &by_own}) m->resize(size.topics);
  }
  Eigen::MatrixXd g;
  Eigen::VectorXd b, by_b;
  Eigen::MatrixXd inner;       ///< g_t . g_t'
  Eigen::MatrixXd topic_sums;  ///< sum of g_t over the words of topic t', plus its transpose
  Eigen::VectorXd b_inner;     ///< b . g_t
  Eigen::VectorXd b_sums;      ///< sum of b over the words of topic t
  Eigen::MatrixXd by_inner, by_topic_sums;
  Eigen::VectorXd by_s, by_own;
};

Population::Population(const Data& data, Workers& workers)
    : data_(enumerable(data)),
      size_(data),
      workers_(workers),
      members_(all_sets(static_cast<std::int32_t>(data.topics),
                        static_cast<std::int32_t>(data.topics_per_document))),
      step_(((1 - data.mask_prob) + data.mask_prob * data.keep_prob) / data.inside()) {
  sets_ = members_.size() / static_cast<std::size_t>(data.topics_per_document);
}

Population::~Population() = default;

double Population::run_query(Eigen::Index query, const ConstMatrix& W, Whole& whole, Local& local,
                             bool derive) const {
  const Eigen::Index v = size_.words_per_topic, T = size_.topics, n = size_.words;
  const auto tau = static_cast<std::size_t>(data_.topics_per_document);
  const double z_mask = data_.z_mask(), z_out = data_.z_outside();
  const Eigen::Index own_topic = query > 0 ? size_.topic_of(query - 1) : -1;

  // How often a selected position shows the query, by whether it is a word of the document; and
  // how often it is then the true word itself, beyond chance.
  const auto sets = static_cast<double>(sets_);
  const double random = data_.random_prob / data_.n(), kept = data_.keep_prob / data_.inside();
  const double often_inside = (query == 0 ? data_.hide_prob() : kept + random) / sets;
  const double often_outside = (query == 0 ? data_.hide_prob() : random) / sets;
  const double itself = query > 0 && kept + random > 0 ? kept / (kept + random) : 0;

  const auto s = whole.sums.col(query);
  const double mask = z_mask * whole.E(0, query);
  for (Eigen::Index t = 0; t < T; ++t) local.g.col(t) = whole.slabs.col(t).segment(query * n, n);
  local.b = mask * W.col(0) + z_out * local.g.rowwise().sum();
  local.inner.noalias() = local.g.transpose() * local.g;
  local.b_inner.noalias() = local.g.transpose() * local.b;
  for (Eigen::Index t = 0; t < T; ++t) {
    local.topic_sums.row(t) = local.g.middleRows(t * v, v).colwise().sum();
    local.b_sums[t] = local.b.segment(t * v, v).sum();
  }
  for (Eigen::Index t = 0; t < T; ++t)
    for (Eigen::Index r = 0; r < t; ++r)
      local.topic_sums(r, t) = local.topic_sums(t, r) =
          local.topic_sums(t, r) + local.topic_sums(r, t);
  const double b_norm = local.b.squaredNorm();
  const double sum_0 = mask + z_out * s.sum();

  double loss = 0, by_b_norm = 0, by_sum_0 = 0, by_b_own = 0;
  local.by_inner.setZero();
  local.by_topic_sums.setZero();
  local.by_s.setZero();
  local.by_own.setZero();
  for (std::size_t set = 0; set < sets_; ++set) {
    const std::int32_t* topics = members_.data() + set * tau;
    const bool inside = query == 0 || std::binary_search(topics, topics + tau,
                                                         static_cast<std::int32_t>(own_topic));
    const double often = inside ? often_inside : often_outside;
    if (often == 0) continue;
    const double of_own = inside ? itself : 0;

    double sum_s = 0, b_inner = 0, b_sum = 0, inner = 0, topic_sum = 0, own = 0;
    for (std::size_t i = 0; i < tau; ++i) {
      const Eigen::Index t = topics[i];
      sum_s += s[t];
      b_inner += local.b_inner[t];
      b_sum += local.b_sums[t];
      inner += local.inner(t, t);
      topic_sum += local.topic_sums(t, t);
      for (std::size_t j = 0; j < i; ++j) {
        inner += 2 * local.inner(topics[j], t);
        topic_sum += local.topic_sums(topics[j], t);
      }
      if (of_own > 0) own += local.g(query - 1, t);
    }
    // The output is F/N; its product with the mean target.
    const double N = sum_0 + step_ * sum_s;
    const double F2 = b_norm + 2 * step_ * b_inner + step_ * step_ * inner;
    const double of_any = (1 - of_own) / data_.inside();
    double target = of_any * (b_sum + step_ * topic_sum);
    if (of_own > 0) target += of_own * (local.b[query - 1] + step_ * own);
    loss += often * ((F2 / N - 2 * target) / N + 1);
    if (!derive) continue;

    const double by_F2 = often / (N * N), by_target = -2 * often / N;
    const double by_N = -2 * often * (F2 / N - target) / (N * N);
    by_b_norm += by_F2;
    by_sum_0 += by_N;
    by_b_own += by_target * of_own;
    for (std::size_t i = 0; i < tau; ++i) {
      const Eigen::Index t = topics[i];
      local.by_s[t] += by_N;
      local.by_own[t] += by_target * of_own;
      for (std::size_t j = 0; j <= i; ++j) {
        local.by_inner(topics[j], t) += by_F2;
        local.by_topic_sums(topics[j], t) += by_target * of_any;
      }
    }
  }
  if (!derive) return loss;

  local.by_inner.triangularView<Eigen::StrictlyLower>() = local.by_inner.transpose();
  local.by_topic_sums.triangularView<Eigen::StrictlyLower>() = local.by_topic_sums.transpose();
  local.by_b = 2 * by_b_norm * local.b;
  local.by_b.noalias() += 2 * step_ * (local.g * local.by_inner.diagonal());
  for (Eigen::Index t = 0; t < T; ++t)
    local.by_b.segment(t * v, v).array() += local.by_topic_sums(t, t);
  if (query > 0) local.by_b[query - 1] += by_b_own;
  for (Eigen::Index t = 0; t < T; ++t) {
    auto by_g = whole.slabs.col(t).segment(query * n, n);
    by_g.noalias() = 2 * step_ * step_ * (local.g * local.by_inner.col(t));
    by_g += 2 * step_ * local.by_inner(t, t) * local.b + z_out * local.by_b;
    for (Eigen::Index r = 0; r < T; ++r)
      by_g.segment(r * v, v).array() += step_ * local.by_topic_sums(r, t);
    if (query > 0) by_g[query - 1] += step_ * local.by_own[t];
    whole.by_sums(t, query) = step_ * local.by_s[t] + z_out * by_sum_0;
  }
  whole.slabs.col(T).segment(query * n, n) = local.by_b;
  whole.by_sums(T, query) = by_sum_0;
  return loss;
}

double Population::run(const ConstMatrix& W, const ConstMatrix& logit, Whole& whole,
                       MatrixOut* by_logit) const {
  const Eigen::Index v = size_.words_per_topic, T = size_.topics, n = size_.words;
  const double z_mask = data_.z_mask();
  const bool words_occur = data_.z_inside() > 0;
  whole.resize(size_);
  const auto tasks = static_cast<std::size_t>((size_.symbols + kQueries - 1) / kQueries);
  const auto slab = [&](Eigen::Index t) {
    return Eigen::Map<Eigen::MatrixXd>(whole.slabs.col(t).data(), n, size_.symbols);
  };
  workers_.run(tasks, static_cast<std::size_t>(n * n * size_.symbols), [&](std::size_t task) {
    const Eigen::Index first = static_cast<Eigen::Index>(task) * kQueries;
    const Eigen::Index count = std::min(kQueries, size_.symbols - first);
    const auto local = locals_.borrow();
    local->resize(size_);
    auto E = whole.E.middleCols(first, count);
    for (Eigen::Index q = 0; q < count; ++q) {
      const auto from = logit.col(first + q);
      auto e = E.col(q);
      const double of_words =
          words_occur ? from.tail(n).maxCoeff() : -std::numeric_limits<double>::infinity();
      const double shift = z_mask > 0 ? std::max(of_words, from[0]) : of_words;
      e[0] = z_mask > 0 ? std::exp(from[0] - shift) : 0;
      if (words_occur)
        e.tail(n) = (from.tail(n).array() - shift).exp();
      else
        e.tail(n).setZero();
    }
    for (Eigen::Index t = 0; t < T; ++t) {
      whole.sums.row(t).segment(first, count) = E.middleRows(1 + t * v, v).colwise().sum();
      slab(t).middleCols(first, count).noalias() =
          W.middleCols(1 + t * v, v) * E.middleRows(1 + t * v, v);
    }
    const bool derive = by_logit != nullptr;
    for (Eigen::Index q = first; q < first + count; ++q)
      whole.losses[q] = run_query(q, W, whole, *local, derive);
    if (!derive) return;
    // Through g_t and s_t to the weights, and to the logits.
    auto out = by_logit->middleCols(first, count);
    for (Eigen::Index t = 0; t < T; ++t) {
      auto of_topic = out.middleRows(1 + t * v, v);
      of_topic.noalias() =
          W.middleCols(1 + t * v, v).transpose() * slab(t).middleCols(first, count);
      of_topic.rowwise() += whole.by_sums.row(t).segment(first, count);
    }
    out.row(0).noalias() = z_mask * (W.col(0).transpose() * slab(T).middleCols(first, count));
    out.row(0) += z_mask * whole.by_sums.row(T).segment(first, count);
    out.array() *= E.array();
  });
  return whole.losses.sum();
}

double Population::loss(const ConstMatrix& W, const ConstMatrix& logit) const {
  const auto whole = wholes_.borrow();
  return run(W, logit, *whole, nullptr);
}

double Population::gradient(const ConstMatrix& W, const ConstMatrix& logit, MatrixOut by_W,
                            MatrixOut by_logit) const {
  const auto whole = wholes_.borrow();
  const double loss = run(W, logit, *whole, &by_logit);
  const Eigen::Index v = size_.words_per_topic, T = size_.topics, n = size_.words;
  const auto work = static_cast<std::size_t>(n * n * size_.symbols);
  workers_.run(static_cast<std::size_t>(T + 1), work, [&](std::size_t task) {
    const auto t = static_cast<Eigen::Index>(task);
    const Eigen::Map<const Eigen::MatrixXd> slab(whole->slabs.col(t).data(), n, size_.symbols);
    if (t == T)
      by_W.col(0).noalias() = data_.z_mask() * (slab * whole->E.row(0).transpose());
    else
      by_W.middleCols(1 + t * v, v).noalias() =
          slab * whole->E.middleRows(1 + t * v, v).transpose();
  });
  return loss;
}

RelativeAttention Population::attention(const ConstMatrix& logit) const {
  const Eigen::Index v = size_.words_per_topic, T = size_.topics, n = size_.words;
  const auto tau = static_cast<std::size_t>(data_.topics_per_document);
  const double z_mask = data_.z_mask(), z_out = data_.z_outside();
  RelativeAttention mean;
  Eigen::VectorXd e(size_.symbols), s(T);
  for (Eigen::Index query = 1; query <= n; ++query) {
    e = (logit.col(query).array() - logit.col(query).maxCoeff()).exp();
    for (Eigen::Index t = 0; t < T; ++t) s[t] = e.segment(1 + t * v, v).sum();
    const double sum_0 = z_mask * e[0] + z_out * s.sum();
    const Eigen::Index own = size_.topic_of(query - 1);
    // The mean of 1/N over the documents that have the query.
    double inverse = 0, documents = 0;
    for (std::size_t set = 0; set < sets_; ++set) {
      const std::int32_t* topics = members_.data() + set * tau;
      if (!std::binary_search(topics, topics + tau, static_cast<std::int32_t>(own))) continue;
      double sum = 0;
      for (std::size_t i = 0; i < tau; ++i) sum += s[topics[i]];
      inverse += 1 / (sum_0 + step_ * sum);
      documents += 1;
    }
    inverse /= documents;
    double topic = 0, other = 0;
    for (Eigen::Index k = 0; k < n; ++k) {
      if (k == query - 1) continue;
      (size_.topic_of(k) == own ? topic : other) += e[1 + k];
    }
    mean.same_word += e[query] * inverse;
    mean.same_topic += topic * inverse;
    mean.other_topic += other * inverse;
  }
  const auto count = logit_multiplicities(data_);
  const double none = std::numeric_limits<double>::quiet_NaN();
  mean.same_word /= count[logit_same_word];
  mean.same_topic = v > 1 ? mean.same_topic / count[logit_same_topic] : none;
  mean.other_topic = T > 1 ? mean.other_topic / count[logit_other_topic] : none;
  return mean;
}

}  // namespace popflow::topic
