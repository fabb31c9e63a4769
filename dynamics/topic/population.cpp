#include "dynamics/topic/population.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "dynamics/common/array_math.hpp"
#include "dynamics/common/products.hpp"
#include "dynamics/topic/query_lanes.hpp"
#include "popflow/error.hpp"
#include "popflow/parameter.hpp"

namespace popflow::topic {

namespace {

constexpr auto kLanes = static_cast<Eigen::Index>(query_lanes);
/// Number of queries after which their contribution to the derivatives with respect to W_V is
/// added: few, so that the data stay in the caches, but several for each thread. The order of
/// summation does not depend on this number.
Eigen::Index queries_per_sum(const Workers& workers) {
  return kLanes * std::max<Eigen::Index>(16, 4 * static_cast<Eigen::Index>(workers.threads()));
}

/// Rows of QueryLanes as a matrix with one row per query.
using Across = Eigen::Map<Eigen::MatrixXd>;

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
                   " sets of topics; the population loss of full matrices sums over all sets "
                   "and allows at most " +
                   std::to_string(static_cast<std::int64_t>(Population::most_sets)));
}

}  // namespace

struct Population::Whole {
  void resize(const Sizes& size, Eigen::Index queries) {
    E.resize(size.symbols, queries);
    slabs.resize(size.words * queries, size.topics + 1);
    losses.resize(size.symbols);
  }
  Eigen::VectorXd losses;  ///< for each query
  // Data of the queries treated together:
  Eigen::MatrixXd E;  ///< exp(Lambda), each column up to a factor; 0 for keys that never occur
  /// Column t: derivatives with respect to g_t, n x queries; the last one: with respect to b.
  Eigen::MatrixXd slabs;
};

struct Population::Local {
  explicit Local(const Data& data) : lanes(data), mask(query_lanes) {}
  QueryLanes lanes;
  std::vector<double> mask;  ///< part of the sum of a query's weights
};

Population::Population(const Data& data, Workers& workers)
    : data_(enumerable(data)),
      size_(data),
      workers_(workers),
      members_(all_sets(static_cast<std::int32_t>(data.topics),
                        static_cast<std::int32_t>(data.topics_per_document))),
      step_(((1 - data.mask_prob) + data.mask_prob * data.keep_prob) / data.inside()),
      locals_([data] { return std::make_unique<Local>(data); }) {
  sets_ = members_.size() / static_cast<std::size_t>(data.topics_per_document);
}

Population::~Population() = default;

void Population::weigh(const ConstMatrix& logit, Eigen::Index query, double* e) const {
  const Eigen::Index n = size_.words;
  const auto from = logit.col(query);
  const bool words_occur = data_.z_inside() > 0, mask_occurs = data_.z_mask() > 0;
  double shift = mask_occurs ? from[0] : -std::numeric_limits<double>::infinity();
  if (words_occur) shift = std::max(shift, from.tail(n).maxCoeff());
  shifted_weights(static_cast<std::size_t>(size_.symbols), from.data(), shift, e);
  if (!mask_occurs) e[0] = 0;
  if (!words_occur) std::fill_n(e + 1, n, 0.0);
}

void Population::run_block(Eigen::Index begin, Eigen::Index first, const ConstMatrix& W,
                           const ConstMatrix& logit, Whole& whole, Local& local,
                           MatrixOut* by_logit) const {
  const auto v = static_cast<std::size_t>(size_.words_per_topic);
  const auto T = static_cast<std::size_t>(size_.topics);
  const auto n = static_cast<std::size_t>(size_.words);
  const auto stride = static_cast<std::size_t>(W.outerStride());
  const Eigen::Index count = std::min<Eigen::Index>(kLanes, size_.symbols - first);
  QueryLanes& at = local.lanes;
  at.choose(data_, static_cast<std::size_t>(first), static_cast<double>(sets_));
  Across E(at.E.data(), kLanes, size_.symbols),
      g(at.g.data(), kLanes, size_.words * (size_.topics + 1));
  Across own_g(at.own_g.data(), kLanes, size_.topics + 1);
  for (Eigen::Index q = 0; q < count; ++q) {
    auto weights = whole.E.col(first - begin + q);
    weigh(logit, first + q, weights.data());
    E.row(q) = weights.transpose();
  }
  for (Eigen::Index q = 0; q < kLanes; ++q)
    local.mask[static_cast<std::size_t>(q)] = data_.z_mask() * E(q, 0);

  for (std::size_t t = 0; t < T; ++t)
    product_with_transpose(
        query_lanes, n, v, {at.E.data() + (1 + t * v) * query_lanes, query_lanes},
        {W.data() + (1 + t * v) * stride, stride}, at.g.data() + t * n * query_lanes, query_lanes);
  add_topics(data_.z_outside(), local.mask.data(), W.data(), at);
  multiply_topics(at);
  for (Eigen::Index q = 0; q < count; ++q)
    for (Eigen::Index t = 0; t <= size_.topics; ++t)
      own_g(q, t) = first + q > 0 ? g(q, t * size_.words + first + q - 1) : 0;
  const bool derive = by_logit != nullptr;
  sum_over_sets(members_, static_cast<std::size_t>(data_.topics_per_document), step_,
                data_.z_outside(), local.mask.data(), derive, at);
  for (Eigen::Index q = 0; q < count; ++q)
    whole.losses[first + q] = at.loss[static_cast<std::size_t>(q)];
  if (!derive) return;

  // Back-propagates through g_t and s_t to the weights, and to the logits.
  derive_topics(step_, data_.z_outside(), at);
  for (std::size_t t = 0; t < T; ++t)
    product(query_lanes, v, n, {at.by_g.data() + t * n * query_lanes, query_lanes},
            {W.data() + (1 + t * v) * stride, stride}, at.by_key.data() + (1 + t * v) * query_lanes,
            query_lanes);
  product(query_lanes, 1, n, {at.by_g.data() + T * n * query_lanes, query_lanes},
          {W.data(), stride}, at.by_key.data(), query_lanes);
  finish_keys(data_.z_mask(), at);
  const Across by_key(at.by_key.data(), kLanes, size_.symbols);
  by_logit->middleCols(first, count) = by_key.topRows(count).transpose();
  for (Eigen::Index t = 0; t <= size_.topics; ++t) {
    const Across of_topic(at.by_g.data() + t * size_.words * kLanes, kLanes, size_.words);
    Eigen::Map<Eigen::MatrixXd>(whole.slabs.col(t).data() + (first - begin) * size_.words,
                                size_.words, count) = of_topic.topRows(count).transpose();
  }
}

void Population::add_by_value(Eigen::Index count, const Whole& whole, MatrixOut& by_W) const {
  const Eigen::Index v = size_.words_per_topic, T = size_.topics, n = size_.words;
  workers_.run(static_cast<std::size_t>(T + 1), static_cast<std::size_t>(n * n * count),
               [&](std::size_t task) {
                 const auto t = static_cast<Eigen::Index>(task);
                 const auto height = static_cast<std::size_t>(n);
                 const Eigen::Index column = t == T ? 0 : 1 + t * v;
                 add_product_with_transpose(height, t == T ? 1 : static_cast<std::size_t>(v),
                                            static_cast<std::size_t>(count),
                                            {whole.slabs.col(t).data(), height},
                                            {whole.E.data() + column, height + 1}, &by_W(0, column),
                                            static_cast<std::size_t>(by_W.outerStride()));
               });
}

double Population::run(const ConstMatrix& W, const ConstMatrix& logit,
                       Derivatives* derivatives) const {
  const auto whole = wholes_.borrow();
  const Eigen::Index most = std::min(queries_per_sum(workers_), size_.symbols);
  whole->resize(size_, most);
  const auto blocks_of = [](Eigen::Index all) {
    return static_cast<std::size_t>((all + kLanes - 1) / kLanes);
  };
  const Eigen::Index n = size_.words;
  for (Eigen::Index begin = 0; begin < size_.symbols; begin += most) {
    const Eigen::Index count = std::min(most, size_.symbols - begin);
    workers_.run(blocks_of(count), static_cast<std::size_t>(n * n * count), [&](std::size_t block) {
      const auto local = locals_.borrow();
      run_block(begin, begin + static_cast<Eigen::Index>(block) * kLanes, W, logit, *whole, *local,
                derivatives == nullptr ? nullptr : &derivatives->by_logit);
    });
    if (derivatives != nullptr) add_by_value(count, *whole, derivatives->by_W);
  }
  return whole->losses.sum();
}

double Population::loss(const ConstMatrix& W, const ConstMatrix& logit) const {
  return run(W, logit, nullptr);
}

double Population::gradient(const ConstMatrix& W, const ConstMatrix& logit, MatrixOut by_W,
                            MatrixOut by_logit) const {
  by_W.setZero();
  Derivatives derivatives{by_W, by_logit};
  const double loss = run(W, logit, &derivatives);
  by_W.col(0) *= data_.z_mask();
  return loss;
}

RelativeAttention Population::attention(const ConstMatrix& logit) const {
  const Eigen::Index v = size_.words_per_topic, T = size_.topics, n = size_.words;
  const auto tau = static_cast<std::size_t>(data_.topics_per_document);
  const double z_mask = data_.z_mask(), z_out = data_.z_outside();
  RelativeAttention mean;
  Eigen::VectorXd e(size_.symbols), s(T);
  for (Eigen::Index query = 1; query <= n; ++query) {
    write_relative_weights(logit.col(query).data(), e.size(), e.data());
    for (Eigen::Index t = 0; t < T; ++t) s[t] = e.segment(1 + t * v, v).sum();
    const double sum_0 = z_mask * e[0] + z_out * s.sum();
    const Eigen::Index own = size_.topic_of(query - 1);
    // Mean of 1/N over the documents that contain the query.
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
