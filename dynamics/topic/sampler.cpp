#include "dynamics/topic/sampler.hpp"

#include <algorithm>
#include <cmath>

namespace popflow::topic {

namespace {

using Map = Eigen::Map<Eigen::MatrixXd>;

constexpr std::size_t kDocuments = 64;  // computed at a time
constexpr Eigen::Index kColumns = 8;    // of a task that adds them up
constexpr std::int32_t kAbsent = -1;

Map map(std::vector<double>& numbers, Eigen::Index rows, Eigen::Index columns) {
  numbers.resize(static_cast<std::size_t>(rows * columns));
  return {numbers.data(), rows, columns};
}

}  // namespace

struct Sampler::Document {
  std::vector<std::int32_t> keys;      ///< symbols shown
  std::vector<std::int32_t> queries;   ///< symbols at selected positions, in order of appearance
  std::vector<std::int32_t> key_at;    ///< the place of each symbol among the keys
  std::vector<std::int32_t> query_at;  ///< and among the queries
  std::vector<double> by_W;            ///< n x keys
  std::vector<double> by_logit;        ///< keys x queries
};

struct Sampler::Scratch {
  std::vector<std::uint32_t> words;
  std::vector<double> shown;     ///< how often each symbol is
  std::vector<double> selected;  ///< positions of each query
  std::vector<double> targets;   ///< true words of each query, n x queries; then the residuals
  std::vector<double> W, attention, outputs, by_attention;
};

struct Sampler::Batch {
  std::vector<Document> documents;
};

Sampler::Sampler(const Data& data, std::int64_t length, Workers& workers)
    : size_(data),
      generator_(data, length),
      length_(static_cast<double>(length)),
      workers_(workers) {}

Sampler::~Sampler() = default;

void Sampler::draw(RandomStream random, bool attends, Document& document, Scratch& scratch) const {
  const auto symbols = static_cast<std::size_t>(size_.symbols);
  const auto n = static_cast<std::size_t>(size_.words);
  document.keys.clear();
  document.queries.clear();
  document.key_at.assign(symbols, kAbsent);
  document.query_at.assign(symbols, kAbsent);
  scratch.shown.assign(symbols, 0.0);
  scratch.selected.clear();
  scratch.targets.clear();
  generator_.draw(random, scratch.words, [&](const Position& position) {
    scratch.shown[position.shown] += 1;
    if (!position.selected) return;
    // Under uniform attention all positions ask alike.
    const std::size_t query = attends ? position.shown : 0;
    std::int32_t& at = document.query_at[query];
    if (at == kAbsent) {
      at = static_cast<std::int32_t>(document.queries.size());
      document.queries.push_back(static_cast<std::int32_t>(query));
      scratch.selected.push_back(0.0);
      scratch.targets.resize(scratch.targets.size() + n, 0.0);
    }
    scratch.selected[static_cast<std::size_t>(at)] += 1;
    scratch.targets[static_cast<std::size_t>(at) * n + position.word - 1] += 1;
  });
  for (std::size_t symbol = 0; symbol < symbols; ++symbol) {
    if (scratch.shown[symbol] == 0) continue;
    document.key_at[symbol] = static_cast<std::int32_t>(document.keys.size());
    document.keys.push_back(static_cast<std::int32_t>(symbol));
  }
}

void Sampler::differentiate(const ConstMatrix& W, const ConstMatrix* logit, bool of_W,
                            Document& document, Scratch& scratch) const {
  const auto K = static_cast<Eigen::Index>(document.keys.size());
  const auto Q = static_cast<Eigen::Index>(document.queries.size());
  const Eigen::Index n = size_.words;
  if (Q == 0) return;

  Map attention = map(scratch.attention, K, Q);
  for (Eigen::Index q = 0; q < Q; ++q) {
    auto a = attention.col(q);
    for (Eigen::Index k = 0; k < K; ++k) {
      const std::int32_t key = document.keys[static_cast<std::size_t>(k)];
      a[k] = logit != nullptr ? (*logit)(key, document.queries[static_cast<std::size_t>(q)]) : 0.0;
    }
    const double shift = a.maxCoeff();
    for (Eigen::Index k = 0; k < K; ++k) {
      const auto key = static_cast<std::size_t>(document.keys[static_cast<std::size_t>(k)]);
      a[k] = scratch.shown[key] * (logit != nullptr ? std::exp(a[k] - shift) : 1.0);
    }
    a /= logit != nullptr ? a.sum() : length_;
  }

  Map columns = map(scratch.W, n, K);
  for (Eigen::Index k = 0; k < K; ++k)
    columns.col(k) = W.col(document.keys[static_cast<std::size_t>(k)]);
  Map outputs = map(scratch.outputs, n, Q);
  outputs.noalias() = columns * attention;
  // d/df of the mean over selected positions: of a query's, (2/S)(count f - true words).
  double positions = 0;
  for (const double count : scratch.selected) positions += count;
  Map residuals = map(scratch.targets, n, Q);
  for (Eigen::Index q = 0; q < Q; ++q)
    residuals.col(q) =
        (2 / positions) *
        (scratch.selected[static_cast<std::size_t>(q)] * outputs.col(q) - residuals.col(q));

  if (of_W) map(document.by_W, n, K).noalias() = residuals * attention.transpose();
  if (logit == nullptr) return;
  Map by_attention = map(scratch.by_attention, K, Q);
  by_attention.noalias() = columns.transpose() * residuals;
  Map by_logit = map(document.by_logit, K, Q);
  for (Eigen::Index q = 0; q < Q; ++q) {
    const double mean = attention.col(q).dot(by_attention.col(q));
    by_logit.col(q) = attention.col(q).array() * (by_attention.col(q).array() - mean);
  }
}

void Sampler::add(const ConstMatrix& W, const ConstMatrix* logit, const SampleKey& key,
                  std::span<const double> weights, MatrixOut* by_W, MatrixOut* by_logit) const {
  const auto batch = batches_.borrow();
  batch->documents.resize(std::min(kDocuments, weights.size()));
  const auto tasks = static_cast<std::size_t>((size_.symbols + kColumns - 1) / kColumns);
  for (std::size_t first = 0; first < weights.size(); first += kDocuments) {
    const std::size_t count = std::min(kDocuments, weights.size() - first);
    const auto work =
        count * (static_cast<std::size_t>(length_) + static_cast<std::size_t>(size_.words));
    workers_.run(count, work, [&](std::size_t i) {
      const auto scratch = scratches_.borrow();
      Document& document = batch->documents[i];
      draw(key.stream(first + i), by_logit != nullptr, document, *scratch);
      differentiate(W, logit, by_W != nullptr, document, *scratch);
    });
    // Column by column, each in the order of the documents: no two threads write to one column.
    std::size_t entries = 0;
    for (std::size_t i = 0; i < count; ++i)
      entries += batch->documents[i].by_W.size() + batch->documents[i].by_logit.size();
    workers_.run(tasks, entries, [&](std::size_t task) {
      const Eigen::Index begin = static_cast<Eigen::Index>(task) * kColumns;
      const Eigen::Index end = std::min(begin + kColumns, size_.symbols);
      for (std::size_t i = 0; i < count; ++i) {
        Document& document = batch->documents[i];
        if (document.queries.empty()) continue;
        const double weight = -weights[first + i];
        const auto K = static_cast<Eigen::Index>(document.keys.size());
        for (Eigen::Index symbol = begin; symbol < end; ++symbol) {
          const std::int32_t k = document.key_at[static_cast<std::size_t>(symbol)];
          if (by_W != nullptr && k != kAbsent)
            by_W->col(symbol) += weight * Eigen::Map<const Eigen::VectorXd>(
                                              document.by_W.data() + k * size_.words, size_.words);
          if (by_logit == nullptr) continue;
          const std::int32_t q = document.query_at[static_cast<std::size_t>(symbol)];
          if (q == kAbsent) continue;
          const double* column = document.by_logit.data() + q * K;
          for (Eigen::Index j = 0; j < K; ++j)
            (*by_logit)(document.keys[static_cast<std::size_t>(j)], symbol) += weight * column[j];
        }
      }
    });
  }
}

}  // namespace popflow::topic
