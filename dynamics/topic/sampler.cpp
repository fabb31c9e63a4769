#include "dynamics/topic/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "dynamics/common/products.hpp"
#include "dynamics/topic/query_lanes.hpp"

namespace popflow::topic {

namespace {

using Map = Eigen::Map<Eigen::MatrixXd>;

constexpr std::size_t kDocuments = 64;  // computed together
constexpr Eigen::Index kColumns = 8;    // columns per summation task
constexpr std::int32_t kAbsent = -1;

Map map(std::vector<double>& numbers, std::size_t rows, std::size_t columns) {
  numbers.resize(rows * columns);
  return {numbers.data(), static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns)};
}

bool same(const SampleKey& a, const SampleKey& b) {
  return a.seed == b.seed && a.purpose == b.purpose && a.run == b.run && a.first == b.first;
}

/// Number of queries, rounded up to fill the machine's vectors.
constexpr std::size_t lanes_for(std::size_t queries) {
  return (queries + query_lanes - 1) / query_lanes * query_lanes;
}

}  // namespace

struct Sampler::Document {
  std::optional<SampleKey> drawn;  ///< key of the document, if there is one
  bool attends = false;            ///< drawn for non-uniform attention

  std::vector<std::int32_t> keys;      ///< symbols shown
  std::vector<double> shown;           ///< frequency of each key
  std::vector<std::int32_t> queries;   ///< symbols at selected positions, in order of appearance
  std::vector<double> selected;        ///< positions of each query
  std::vector<double> targets;         ///< true words of each query, n x queries
  std::vector<std::int32_t> key_at;    ///< index of each symbol among the keys
  std::vector<std::int32_t> query_at;  ///< index among the queries

  // Gradients: residuals times attention with respect to W_V, and by_logit with respect to Lambda.
  // One row for each query, padded with zero rows to a multiple of query_lanes.
  std::vector<double> attention;  ///< rows x keys
  std::vector<double> residuals;  ///< n x queries
  std::vector<double> by_logit;   ///< rows x keys
};

struct Sampler::Scratch {
  std::vector<std::uint32_t> words;
  std::vector<double> shown;    ///< frequency of each symbol
  std::vector<double> weights;  ///< of all keys, for one query
  std::vector<double> W, outputs, by_attention;
  std::vector<std::uint32_t> columns;
};

struct Sampler::Batch {
  std::vector<Document> documents;
  std::vector<double> weights;
  std::vector<std::int32_t> asked;
};

Sampler::Sampler(const Data& data, std::int64_t length, Workers& workers)
    : size_(data),
      generator_(data, length),
      length_(static_cast<double>(length)),
      workers_(workers) {}

Sampler::~Sampler() = default;

void Sampler::draw(const SampleKey& key, std::uint64_t number, bool attends, Document& document,
                   Scratch& scratch) const {
  SampleKey own = key;
  own.first += number;
  // Successive steps of an SDE share their documents, so documents are kept.
  if (document.drawn && same(*document.drawn, own) && document.attends == attends) return;
  document.drawn = own;
  document.attends = attends;
  const auto symbols = static_cast<std::size_t>(size_.symbols);
  const auto n = static_cast<std::size_t>(size_.words);
  document.keys.clear();
  document.shown.clear();
  document.queries.clear();
  document.selected.clear();
  document.targets.clear();
  document.key_at.assign(symbols, kAbsent);
  document.query_at.assign(symbols, kAbsent);
  scratch.shown.assign(symbols, 0.0);
  RandomStream random = own.stream(0);
  generator_.draw(random, scratch.words, [&](const Position& position) {
    scratch.shown[position.shown] += 1;
    if (!position.selected) return;
    // Under uniform attention all positions have the same query.
    const std::size_t query = attends ? position.shown : 0;
    std::int32_t& at = document.query_at[query];
    if (at == kAbsent) {
      at = static_cast<std::int32_t>(document.queries.size());
      document.queries.push_back(static_cast<std::int32_t>(query));
      document.selected.push_back(0.0);
      document.targets.resize(document.targets.size() + n, 0.0);
    }
    document.selected[static_cast<std::size_t>(at)] += 1;
    document.targets[static_cast<std::size_t>(at) * n + position.word - 1] += 1;
  });
  for (std::size_t symbol = 0; symbol < symbols; ++symbol) {
    if (scratch.shown[symbol] == 0) continue;
    document.key_at[symbol] = static_cast<std::int32_t>(document.keys.size());
    document.keys.push_back(static_cast<std::int32_t>(symbol));
    document.shown.push_back(scratch.shown[symbol]);
  }
}

void Sampler::attend(const ConstMatrix* logit, Document& document, Scratch& scratch) const {
  const std::size_t K = document.keys.size(), rows = lanes_for(document.queries.size());
  document.attention.assign(rows * K, 0.0);
  for (std::size_t q = 0; q < document.queries.size(); ++q) {
    std::vector<double>& a = scratch.weights;
    double sum = length_;
    if (logit == nullptr) {
      a = document.shown;
    } else {
      const double* column = logit->col(document.queries[q]).data();
      a.resize(K);
      for (std::size_t k = 0; k < K; ++k) a[k] = column[document.keys[k]];
      shifted_weights(K, a.data(), *std::max_element(a.begin(), a.end()), a.data());
      sum = 0;
      for (std::size_t k = 0; k < K; ++k) sum += a[k] *= document.shown[k];
    }
    for (std::size_t k = 0; k < K; ++k) document.attention[k * rows + q] = a[k] / sum;
  }
}

void Sampler::differentiate(const ConstMatrix& W, const ConstMatrix* logit, Document& document,
                            Scratch& scratch) const {
  const auto n = static_cast<std::size_t>(size_.words);
  const std::size_t K = document.keys.size(), Q = document.queries.size(), rows = lanes_for(Q);
  if (Q == 0) return;
  attend(logit, document, scratch);

  scratch.W.resize(n * K);
  for (std::size_t k = 0; k < K; ++k)
    std::copy_n(W.col(document.keys[k]).data(), n, scratch.W.data() + k * n);
  Map outputs = map(scratch.outputs, rows, n);
  product_with_transpose(rows, n, K, {document.attention.data(), rows}, {scratch.W.data(), n},
                         outputs.data(), rows);
  // d/df of the mean over selected positions: for a query (2/S)(count f - true words).
  double positions = 0;
  for (const double count : document.selected) positions += count;
  Map residuals = map(document.residuals, n, Q);
  const Eigen::Map<const Eigen::MatrixXd> targets(document.targets.data(), residuals.rows(),
                                                  residuals.cols());
  for (Eigen::Index q = 0; q < residuals.cols(); ++q)
    residuals.col(q) = (2 / positions) * (document.selected[static_cast<std::size_t>(q)] *
                                              outputs.row(q).transpose() -
                                          targets.col(q));
  if (logit == nullptr) return;

  outputs.topRows(residuals.cols()) = residuals.transpose();
  map(scratch.by_attention, rows, K);
  product(rows, K, n, {outputs.data(), rows}, {scratch.W.data(), n}, scratch.by_attention.data(),
          rows);
  document.by_logit.resize(rows * K);
  differentiate_softmax(rows, K, document.attention.data(), scratch.by_attention.data(),
                        document.by_logit.data());
}

void Sampler::add_up(const Batch& batch, Eigen::Index symbol, MatrixOut* by_W, MatrixOut* by_logit,
                     Scratch& scratch) const {
  const auto n = static_cast<std::size_t>(size_.words);
  for (std::size_t i = 0; i < batch.weights.size(); ++i) {
    const Document& document = batch.documents[i];
    const std::size_t Q = document.queries.size(), rows = lanes_for(Q);
    if (Q == 0) continue;
    const double weight = -batch.weights[i];
    const std::int32_t k = document.key_at[static_cast<std::size_t>(symbol)];
    if (by_W != nullptr && k != kAbsent) {
      const double* attention = document.attention.data() + static_cast<std::size_t>(k) * rows;
      scratch.columns.resize(Q);
      std::iota(scratch.columns.begin(), scratch.columns.end(), 0U);
      scratch.weights.assign(attention, attention + Q);
      for (double& factor : scratch.weights) factor *= weight;
      add_columns(n, Q, scratch.columns.data(), scratch.weights.data(),
                  {document.residuals.data(), n}, &(*by_W)(0, symbol));
    }
    if (by_logit == nullptr) continue;
    const std::int32_t q = document.query_at[static_cast<std::size_t>(symbol)];
    if (q == kAbsent) continue;
    for (std::size_t j = 0; j < document.keys.size(); ++j)
      (*by_logit)(document.keys[j], symbol) +=
          weight * document.by_logit[j * rows + static_cast<std::size_t>(q)];
  }
}

void Sampler::add(const ConstMatrix& W, const ConstMatrix* logit, const SampleKey& key,
                  std::span<const double> weights, MatrixOut* by_W, MatrixOut* by_logit,
                  const Asking& asking) const {
  const auto batch = batches_.borrow();
  std::vector<std::uint64_t> numbers;
  for (std::size_t next = 0; next < weights.size();) {
    numbers.clear();
    batch->weights.clear();
    for (; next < weights.size() && numbers.size() < kDocuments; ++next) {
      if (weights[next] == 0) continue;
      numbers.push_back(next);
      batch->weights.push_back(weights[next]);
    }
    const std::size_t count = numbers.size();
    if (batch->documents.size() < count) batch->documents.resize(count);
    const auto each = [&](const auto& task) {
      const auto work =
          count * (static_cast<std::size_t>(length_) + static_cast<std::size_t>(size_.words));
      workers_.run(count, work, [&](std::size_t i) {
        const auto scratch = scratches_.borrow();
        task(i, batch->documents[i], *scratch);
      });
    };
    each([&](std::size_t i, Document& document, Scratch& scratch) {
      draw(key, numbers[i], by_logit != nullptr, document, scratch);
    });
    if (asking) {
      batch->asked.clear();
      for (std::size_t i = 0; i < count; ++i)
        batch->asked.insert(batch->asked.end(), batch->documents[i].queries.begin(),
                            batch->documents[i].queries.end());
      std::sort(batch->asked.begin(), batch->asked.end());
      batch->asked.erase(std::unique(batch->asked.begin(), batch->asked.end()), batch->asked.end());
      asking(batch->asked);
    }
    each([&](std::size_t, Document& document, Scratch& scratch) {
      differentiate(W, logit, document, scratch);
    });
    // Each task adds its columns, each in the order of the documents, so no two threads write to
    // the same column.
    const auto tasks = static_cast<std::size_t>((size_.symbols + kColumns - 1) / kColumns);
    std::size_t entries = 0;
    for (std::size_t i = 0; i < count; ++i)
      entries += batch->documents[i].keys.size() * static_cast<std::size_t>(size_.words);
    workers_.run(tasks, entries, [&](std::size_t task) {
      const Eigen::Index begin = static_cast<Eigen::Index>(task) * kColumns;
      const Eigen::Index end = std::min(begin + kColumns, size_.symbols);
      const auto scratch = scratches_.borrow();
      for (Eigen::Index symbol = begin; symbol < end; ++symbol)
        add_up(*batch, symbol, by_W, by_logit, *scratch);
    });
  }
}

}  // namespace popflow::topic
