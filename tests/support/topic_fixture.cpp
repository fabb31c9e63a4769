#include "support/topic_fixture.hpp"

#include <algorithm>
#include <cmath>
#include <list>
#include <stdexcept>

namespace popflow::topic::test {

std::vector<Data> small_data() {
  return {
      {4, 3, 2, 0.15, 0.1, 0.1},  // usual masking
      {4, 3, 2, 0.6, 0.3, 0.4},   // heavy masking
      {3, 2, 1, 0.3, 0.2, 0.3},   // one topic per document
      {3, 2, 3, 0.3, 0.2, 0.3},   // all topics in every document
      {4, 1, 2, 0.3, 0.2, 0.3},   // one word per topic
      {1, 5, 1, 0.3, 0.2, 0.3},   // only one topic
      {4, 2, 2, 0.3, 0.0, 0.0},   // masks only
      {4, 2, 2, 0.3, 0.0, 0.5},   // nothing kept
      {4, 2, 2, 0.3, 0.6, 0.4},   // nothing masked
      {4, 2, 2, 0.3, 1.0, 0.0},   // everything kept
      {4, 2, 3, 1.0, 0.2, 0.3},   // every position selected
  };
}

std::string describe(const Data& data) {
  std::string text = "T v tau p_m p_c p_r:";
  for (const double number :
       {data.T(), data.v(), data.tau(), data.mask_prob, data.keep_prob, data.random_prob})
    text += " " + std::to_string(number);
  return text;
}

std::unique_ptr<Topic> make_at(const Data& data, const Variant& variant,
                               std::vector<double> fields) {
  return std::make_unique<Topic>(data, variant, std::move(fields), 0.1, std::vector<Note>{});
}

std::unique_ptr<Topic> make_random(const Data& data, const Variant& variant, double size,
                                   std::uint64_t seed) {
  RandomStream random(seed, Purpose::test);
  std::vector<double> x;
  for (const StateBlock& block : state_blocks(data, variant, 0.1))
    for (std::size_t i = 0; i < block.size; ++i) x.push_back(size * random.normal());
  // Coefficients of kinds without entries are 0, as in the program.
  if (variant.train != Train::embedding) {
    if (data.words_per_topic == 1) x[same_topic] = 0;
    if (data.topics == 1) x[other_topic] = 0;
  }
  return make_at(data, variant, std::move(x));
}

std::unique_ptr<FullTopic> make_full(const Data& data, const Variant& variant, FullStart start,
                                     std::int64_t length, unsigned threads) {
  static std::list<Workers> workers;
  workers.emplace_back(threads);
  return std::make_unique<FullTopic>(data, variant, length, std::move(start), 0.1,
                                     std::vector<Note>{}, workers.back());
}

std::unique_ptr<FullTopic> make_full_random(const Data& data, const Variant& variant, double size,
                                            std::uint64_t seed, std::int64_t length,
                                            unsigned threads) {
  RandomStream random(seed, Purpose::test);
  FullStart start;
  for (const StateBlock& block : full_blocks(data, variant, 0.1))
    for (std::size_t i = 0; i < block.size; ++i) start.state.push_back(size * random.normal());
  return make_full(data, variant, std::move(start), length, threads);
}

std::vector<Variant> all_variants(double l2) {
  return {{Train::joint, true, l2},      {Train::joint, false, l2},
          {Train::value, true, l2},      {Train::attention, true, l2},
          {Train::attention, false, l2}, {Train::embedding, true, l2}};
}

std::string describe(const Variant& variant) {
  const char* train[] = {"joint", "value", "attention", "embedding"};
  return std::string(train[static_cast<int>(variant.train)]) +
         (variant.factored ? " factored" : " direct");
}

std::vector<double> field_of(const System& system, const std::string& name,
                             const std::vector<double>& x) {
  const std::vector<std::string>& fields = system.shape().fields;
  if (std::find(fields.begin(), fields.end(), name) == fields.end())
    throw std::invalid_argument("no field " + name);
  std::vector<double> values;
  system.field(name, x, 0, [&](std::size_t first, std::span<const double> piece) {
    values.resize(std::max(values.size(), first + piece.size()));
    std::copy(piece.begin(), piece.end(), values.begin() + static_cast<std::ptrdiff_t>(first));
  });
  return values;
}

std::vector<double> start_of(const System& system) {
  std::vector<double> x(system.shape().state_size());
  system.start(x);
  return x;
}

std::vector<double> rhs_of(const System& system, const std::vector<double>& x) {
  std::vector<double> dxdt(x.size());
  system.rhs(x, 0, dxdt);
  return dxdt;
}

std::map<std::string, double> observe(const System& system, const std::vector<double>& x) {
  std::vector<double> values(system.info().observables.size());
  system.observe(x, 0, values);
  std::map<std::string, double> named;
  for (std::size_t i = 0; i < values.size(); ++i)
    named[system.info().observables[i].name] = values[i];
  return named;
}

namespace {

/// Calls fill(i, j, entry) for every pair of words (numbered from 1) with the kind of the pair.
template <class Entry>
Eigen::MatrixXd by_kind(const Data& data, Entry same, Entry topic, Entry other) {
  const Eigen::Index v = data.words_per_topic;
  const Eigen::Index n = data.topics * v;
  Eigen::MatrixXd m = Eigen::MatrixXd::Zero(n + 1, n + 1);
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = 0; j < n; ++j)
      m(1 + i, 1 + j) = i == j ? same : i / v == j / v ? topic : other;
  return m;
}

}  // namespace

Eigen::MatrixXd full_value(const Data& data, const Values<double>& W) {
  Eigen::MatrixXd m = by_kind(data, W[0], W[1], W[2]);
  m.col(0).tail(m.rows() - 1).setConstant(W[3]);
  return m;
}

Eigen::MatrixXd full_logit(const Data& data, const Logits<double>& logit) {
  Eigen::MatrixXd m = by_kind(data, logit[0], logit[1], logit[2]);
  const Eigen::Index n = m.rows() - 1;
  m.row(0).tail(n).setConstant(logit[3]);
  m.col(0).tail(n).setConstant(logit[4]);
  m(0, 0) = logit[5];
  return m;
}

Eigen::MatrixXd full_factor(const Data& data, const Subspaces<double>& factor) {
  const Eigen::Index v = data.words_per_topic;
  const Eigen::Index n = data.topics * v;
  // Projections by their definition.
  Eigen::MatrixXd topic_means = Eigen::MatrixXd::Zero(n, n);
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = 0; j < n; ++j)
      if (i / v == j / v) topic_means(i, j) = 1 / static_cast<double>(v);
  const Eigen::MatrixXd mean = Eigen::MatrixXd::Constant(n, n, 1 / static_cast<double>(n));
  const Eigen::MatrixXd identity = Eigen::MatrixXd::Identity(n, n);
  const Eigen::VectorXd constant =
      Eigen::VectorXd::Constant(n, 1 / std::sqrt(static_cast<double>(n)));

  Eigen::MatrixXd m(n + 1, n + 1);
  m.bottomRightCorner(n, n) = factor.within * (identity - topic_means) +
                              factor.between * (topic_means - mean) +
                              factor.block[0] * constant * constant.transpose();
  m.col(0).tail(n) = factor.block[1] * constant;
  m.row(0).tail(n) = factor.block[2] * constant.transpose();
  m(0, 0) = factor.block[3];
  return m;
}

Matrices full(const Topic& system, const std::vector<double>& x) {
  const Data& data = system.data();
  if (system.variant().train == Train::embedding) {
    const Eigen::MatrixXd W = full_factor(data, {x[0], x[1], {x[2], x[3], x[4], x[5]}});
    return {W.transpose() * W, Eigen::MatrixXd::Zero(W.rows(), W.cols())};
  }
  Matrices m;
  m.value = full_value(data, {x[0], x[1], x[2], x[3]});
  if (system.variant().attends() && system.variant().factored) {
    const Factors<double> factor = system.factors(x);
    m.logit = full_factor(data, factor.key).transpose() * full_factor(data, factor.query);
  } else {
    m.logit = full_logit(data, system.logits(x));
  }
  return m;
}

namespace {

using Square = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::MatrixXd square_field(const FullTopic& system, const std::string& name,
                             const std::vector<double>& x) {
  const std::vector<double> values = field_of(system, name, x);
  const Eigen::Index size = system.data().topics * system.data().words_per_topic + 1;
  return Eigen::Map<const Square>(values.data(), size, size);
}

}  // namespace

Matrices full(const FullTopic& system, const std::vector<double>& x) {
  const Eigen::Index size = system.data().topics * system.data().words_per_topic + 1;
  const Eigen::MatrixXd zero = Eigen::MatrixXd::Zero(size, size);
  const Variant& variant = system.variant();
  if (variant.train == Train::embedding) {
    const Eigen::MatrixXd W = square_field(system, "W_E", x);
    return {W.transpose() * W, zero};
  }
  Matrices m{square_field(system, "W_V", x), zero};
  if (!variant.attends()) return m;
  if (variant.factored)
    m.logit = square_field(system, "W_K", x).transpose() * square_field(system, "W_Q", x);
  else
    m.logit = square_field(system, "Lambda", x);
  return m;
}

std::vector<double> by_state(const FullTopic& system, const std::vector<double>& x,
                             const Matrices& by) {
  std::vector<double> out;
  const auto append = [&](const Eigen::MatrixXd& m) {
    out.insert(out.end(), m.data(), m.data() + m.size());
  };
  const Variant& variant = system.variant();
  if (variant.train == Train::embedding) {
    append(square_field(system, "W_E", x) * (by.value + by.value.transpose()));
    return out;
  }
  const Eigen::MatrixXd words = by.value.bottomRows(by.value.rows() - 1);
  append(variant.train == Train::attention ? 0 * words : words);
  if (!variant.attends()) return out;
  if (!variant.factored) {
    append(by.logit);
    return out;
  }
  append(square_field(system, "W_Q", x) * by.logit.transpose());
  append(square_field(system, "W_K", x) * by.logit);
  return out;
}

}  // namespace popflow::topic::test
