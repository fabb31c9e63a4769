#include "dynamics/topic/full.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dynamics/topic.hpp"
#include "popflow/datasets.hpp"

namespace popflow::topic {

struct FullTopic::Workspace {
  Eigen::MatrixXd product;  ///< Lambda from factors, or E
  Eigen::MatrixXd by_W, by_logit;
  Eigen::MatrixXd first, second;

  // Derivatives from samples: by_query is 0 except in the columns of the symbols that are queries.
  Eigen::MatrixXd by_query;
  std::vector<bool> is_query;       ///< for each symbol
  Eigen::MatrixXd steps, at_query;  ///< those columns of by_query, and of W_Q
};

FullTopic::FullTopic(const Data& data, Variant variant, std::int64_t document_length,
                     FullStart start, double init_scale, std::vector<Note> notes, Workers& workers)
    : data_(data),
      variant_(variant),
      size_(data),
      start_(std::move(start)),
      products_(workers),
      moments_(data),
      sampler_(data, document_length, workers),
      population_(variant.attends() ? std::make_unique<Population>(data, workers) : nullptr),
      symmetric_(data, variant,
                 start_.symmetric.empty() ? nearest_symmetric(data, variant, start_.state)
                                          : start_.symmetric,
                 init_scale, {}),
      value_flow_(data, variant.l2),
      optimum_(expand(data, value_flow_.optimum())),
      notes_(std::move(notes)),
      events_({}) {
  if (!embeds()) optimum_norm_ = value_optimum(value(std::span<const double>(start_.state))).norm();
  if (factored()) key_norm_ = square(std::span<const double>(start_.state), 0).norm();
  describe(init_scale);
}

FullTopic::~FullTopic() = default;

const SystemInfo& FullTopic::info() const { return topic::info(); }

Capabilities FullTopic::capabilities() const {
  Capabilities can{
      .gradient_flow = this,
      .jacobian = Lacking{"topic has a Jacobian only in symmetric coordinates, which --mode flow "
                          "uses from a symmetric start"},
      .sampled = this,
      .noise_projection = this};
  can.sampling_bias = {"a sampled document is of finite length; the flow is its limit",
                       "document-length", 10'000};
  if (!shape_.events.empty()) can.events = this;
  if (variant_.train == Train::value) can.closed_form = this;
  return can;
}

void FullTopic::describe(double init_scale) {
  shape_.blocks = full_blocks(data_, variant_, init_scale);
  const auto symbols = static_cast<std::size_t>(size_.symbols);
  std::vector<std::string> names;
  for (const FullField& field : full_fields(variant_)) {
    shape_.fields.push_back(field.name);
    for (const std::string& name : field.dimensions)
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  for (const std::string& name : names)
    shape_.dimensions.push_back(dimension(info(), name, symbols));
  // The problem of a symmetric start has the fields of the symmetric system.
  if (!start_.symmetric.empty())
    for (const DimensionSpec& block : symmetric_.shape().dimensions)
      shape_.dimensions.push_back(block);
  for (const StartField& field : start_fields({Train::joint, false}))
    if (variant_.attends() || field.name.rfind("value_", 0) == 0)
      shape_.fields.push_back(field.name);
  shape_.events = symmetric_.shape().events;
  events_ = events().select(shape_.events);
  shape_.constants = symmetric_.shape().constants;
}

GroupSpec FullTopic::problem() const {
  GroupSpec group = symmetric_.problem();
  if (!start_.symmetric.empty()) return group;
  group.variables.clear();
  const std::span<const double> state(start_.state);
  std::size_t squares = 0;
  for (const FullField& field : full_fields(variant_)) {
    VariableSpec variable = dataset(field.name, field.dimensions, "start of " + field.name);
    if (field.name == "W_V") {
      Eigen::MatrixXd whole = Eigen::MatrixXd::Zero(size_.symbols, size_.symbols);
      whole.bottomRows(size_.words) = value(state);
      variable.data = row_major(whole);
    } else {
      variable.data = row_major(square(state, squares++));
    }
    group.variables.push_back(std::move(variable));
  }
  return group;
}

// ---- the state

FullTopic::ConstMap FullTopic::value(std::span<const double> x) const {
  return {x.data(), size_.words, size_.symbols};
}
FullTopic::Matrix FullTopic::value(std::span<double> x) const {
  return {x.data(), size_.words, size_.symbols};
}
FullTopic::ConstMap FullTopic::square(std::span<const double> x, std::size_t i) const {
  const Eigen::Index before = embeds() ? 0 : size_.words * size_.symbols;
  const auto place = static_cast<Eigen::Index>(i) * size_.symbols * size_.symbols;
  return {x.data() + before + place, size_.symbols, size_.symbols};
}
FullTopic::Matrix FullTopic::square(std::span<double> x, std::size_t i) const {
  const Eigen::Index before = embeds() ? 0 : size_.words * size_.symbols;
  const auto place = static_cast<Eigen::Index>(i) * size_.symbols * size_.symbols;
  return {x.data() + before + place, size_.symbols, size_.symbols};
}

void FullTopic::start(std::span<double> x) const {
  std::copy(start_.state.begin(), start_.state.end(), x.begin());
}

// ---- the flow

void FullTopic::multiply(std::span<const double> x, Workspace& workspace) const {
  if (!embeds() && !factored()) return;
  workspace.product.resize(size_.symbols, size_.symbols);
  products_.transpose(square(x, 0), workspace.first);
  products_.product(workspace.first, square(x, embeds() ? 0 : 1), workspace.product);
}

void FullTopic::descend_embedding(std::span<const double> x, double penalty, Workspace& workspace,
                                  std::span<double> out) const {
  // dW_E = W_E (G + G') with G the step of E.
  Eigen::MatrixXd& G = workspace.by_logit;
  G = -2 * variant_.l2 * penalty * workspace.product;
  G.bottomRows(size_.words) += workspace.by_W;
  workspace.second = G + G.transpose();
  workspace.first.resize(size_.symbols, size_.symbols);
  products_.product(square(x, 0), workspace.second, workspace.first);
  square(out, 0) += workspace.first;
}

void FullTopic::descend_value(std::span<const double> x, double penalty,
                              const Eigen::MatrixXd& by_W, std::span<double> out) const {
  if (variant_.train == Train::attention) return;
  const double l2 = 2 * variant_.l2 * penalty;
  products_.by_columns(size_.symbols, size_.words, [&](Eigen::Index first, Eigen::Index count) {
    value(out).middleCols(first, count) +=
        by_W.middleCols(first, count) - l2 * value(x).middleCols(first, count);
  });
}

void FullTopic::rhs(StateView x, double /*t*/, std::span<double> dxdt) const {
  const auto workspace = workspaces_.borrow();
  multiply(x, *workspace);
  workspace->by_W.resize(size_.words, size_.symbols);
  if (variant_.attends()) {
    workspace->by_logit.resize(size_.symbols, size_.symbols);
    const ConstMatrix logit =
        variant_.factored ? ConstMatrix(workspace->product) : ConstMatrix(square(x, 0));
    population_->gradient(value(x), logit, workspace->by_W, workspace->by_logit);
  } else if (embeds()) {
    moments_.gradient(workspace->product.bottomRows(size_.words), workspace->by_W);
  } else {
    moments_.gradient(value(x), workspace->by_W);
  }
  workspace->by_W *= -1;
  std::fill(dxdt.begin(), dxdt.end(), 0.0);
  if (embeds()) return descend_embedding(x, 1, *workspace, dxdt);
  descend_value(x, 1, workspace->by_W, dxdt);
  if (!variant_.attends()) return;
  Eigen::MatrixXd& G = workspace->by_logit;
  G *= -1;
  if (!variant_.factored) {
    square(dxdt, 0) = G;
    return;
  }
  // dW_K = W_Q G', dW_Q = W_K G with G the step of Lambda.
  products_.product_with_transpose(square(x, 1), G, square(dxdt, 0));
  products_.product(square(x, 0), G, square(dxdt, 1));
}

Eigen::MatrixXd FullTopic::value_optimum(const ConstMatrix& start) const {
  return optimum_ +
         moments_.decayed(start - optimum_, variant_.l2, std::numeric_limits<double>::infinity());
}

void FullTopic::closed_form(double t, std::span<double> x) const {
  const ConstMap start = value(std::span<const double>(start_.state));
  value(x) = optimum_ + moments_.decayed(start - optimum_, variant_.l2, t);
}

// ---- observables and events

double FullTopic::excess_loss(std::span<const double> x) const {
  const Eigen::MatrixXd beyond = value(x) - optimum_;
  return moments_.excess(beyond) + variant_.l2 * beyond.squaredNorm();
}

void FullTopic::observe(StateView x, double /*t*/, std::span<double> values) const {
  const auto workspace = workspaces_.borrow();
  multiply(x, *workspace);
  Evaluation evaluation;
  evaluation.attention = {1, data_.words_per_topic > 1 ? 1 : undefined,
                          data_.topics > 1 ? 1 : undefined};
  if (embeds()) {
    evaluation.loss = moments_.loss(workspace->product.bottomRows(size_.words));
    evaluation.norm_value = workspace->product.norm();
  } else {
    evaluation.norm_value = value(x).norm();
  }
  evaluation.penalty = variant_.l2 * evaluation.norm_value * evaluation.norm_value;
  if (variant_.train == Train::value) {
    evaluation.loss = moments_.loss(value(x));
    evaluation.excess = excess_loss(x);
  }
  if (variant_.attends()) {
    const ConstMatrix logit =
        variant_.factored ? ConstMatrix(workspace->product) : ConstMatrix(square(x, 0));
    evaluation.loss = population_->loss(value(x), logit);
    evaluation.attention = population_->attention(logit);
    evaluation.norm_logit = logit.norm();
  }
  if (factored()) {
    evaluation.norm_key = square(x, 0).norm();
    evaluation.norm_query = square(x, 1).norm();
  }
  observables().evaluate(evaluation, values);
}

double FullTopic::loss(StateView x, double /*t*/) const {
  if (variant_.train == Train::value) return excess_loss(x);
  const auto workspace = workspaces_.borrow();
  multiply(x, *workspace);
  if (embeds())
    return moments_.loss(workspace->product.bottomRows(size_.words)) +
           variant_.l2 * workspace->product.squaredNorm();
  const ConstMatrix logit =
      variant_.factored ? ConstMatrix(workspace->product) : ConstMatrix(square(x, 0));
  return population_->loss(value(x), logit) + variant_.l2 * value(x).squaredNorm();
}

void FullTopic::precondition(StateView /*x*/, std::span<double> v) const {
  if (variant_.train == Train::attention) value(v).setZero();  // W_V stays at its start
}

Values<double> FullTopic::value_means(std::span<const double> x) const {
  if (!embeds()) return class_means(data_, value(x));
  const Logits<double> means = class_means_of_product(data_, square(x, 0), square(x, 0));
  return {means[logit_same_word], means[logit_same_topic], means[logit_other_topic],
          means[logit_word_key]};
}

Logits<double> FullTopic::logit_means(std::span<const double> x) const {
  return factored() ? class_means_of_product(data_, square(x, 0), square(x, 1))
                    : class_means_of_square(data_, square(x, 0));
}

void FullTopic::field(std::string_view name, StateView x, double /*t*/,
                      const FieldSink& sink) const {
  const std::size_t i = index_of(name, shape_.fields);
  const std::size_t matrices = shape_.blocks.size();
  if (i >= matrices) {
    const std::size_t which = i - matrices;
    const double mean =
        which < value_entries ? value_means(x)[which] : logit_means(x)[which - value_entries];
    sink(0, {&mean, 1});
    return;
  }
  const auto symbols = static_cast<std::size_t>(size_.symbols);
  const bool of_W = i == 0 && !embeds();
  std::vector<double> line(symbols, 0.0);
  for (std::size_t row = 0; row < symbols; ++row) {
    Eigen::Map<Eigen::RowVectorXd> to(line.data(), size_.symbols);
    const auto from = static_cast<Eigen::Index>(row);
    if (!of_W)
      to = square(x, embeds() ? i : i - 1).row(from);
    else if (row > 0)
      to = value(x).row(from - 1);
    sink(row * symbols, line);
  }
}

void FullTopic::event_functions(StateView x, double /*t*/, std::span<double> functions) const {
  EventEvaluation evaluation{.norm_value_at_end = optimum_norm_, .norm_key_at_start = key_norm_};
  if (variant_.train == Train::joint || variant_.train == Train::value)
    evaluation.norm_value = value(x).norm();
  if (factored()) evaluation.norm_key = square(x, 0).norm();
  events_.evaluate(evaluation, functions);
}

// ---- noise

void FullTopic::add_sampled(StateView x, double /*t*/, const SampleKey& key,
                            std::span<const double> weights, std::span<double> out) const {
  const auto workspace = workspaces_.borrow();
  double penalty = 0;
  for (const double weight : weights) penalty += weight;
  workspace->by_W.setZero(size_.words, size_.symbols);
  MatrixOut by_W(workspace->by_W);
  if (embeds()) {
    multiply(x, *workspace);
    sampler_.add(workspace->product.bottomRows(size_.words), nullptr, key, weights, &by_W, nullptr);
    return descend_embedding(x, penalty, *workspace, out);
  }
  if (!variant_.attends()) {
    sampler_.add(value(x), nullptr, key, weights, &by_W, nullptr);
    return descend_value(x, penalty, workspace->by_W, out);
  }
  MatrixOut* of_value = variant_.train == Train::attention ? nullptr : &by_W;
  if (!variant_.factored) {
    workspace->by_logit.setZero(size_.symbols, size_.symbols);
    MatrixOut by_logit(workspace->by_logit);
    const ConstMatrix logit = square(x, 0);
    sampler_.add(value(x), &logit, key, weights, of_value, &by_logit);
    square(out, 0) += workspace->by_logit;
  } else {
    if (workspace->by_query.size() == 0) workspace->by_query.setZero(size_.symbols, size_.symbols);
    workspace->product.resize(size_.symbols, size_.symbols);
    workspace->is_query.assign(static_cast<std::size_t>(size_.symbols), false);
    MatrixOut by_logit(workspace->by_query);
    const ConstMatrix logit(workspace->product);
    sampler_.add(
        value(x), &logit, key, weights, of_value, &by_logit,
        [&](std::span<const std::int32_t> symbols) { compute_columns(x, symbols, *workspace); });
    descend_factors(x, *workspace, out);
  }
  descend_value(x, penalty, workspace->by_W, out);
}

void FullTopic::compute_columns(std::span<const double> x, std::span<const std::int32_t> symbols,
                                Workspace& workspace) const {
  std::vector<std::int32_t> more;
  for (const std::int32_t symbol : symbols)
    if (!workspace.is_query[static_cast<std::size_t>(symbol)]) more.push_back(symbol);
  if (more.empty()) return;
  // Computes columns of Lambda = W_K' W_Q as rows of W_Q' W_K, so that the large factor W_K is used
  // without a copy.
  const auto count = static_cast<Eigen::Index>(more.size());
  workspace.at_query.resize(count, size_.symbols);
  for (Eigen::Index i = 0; i < count; ++i)
    workspace.at_query.row(i) = square(x, 1).col(more[static_cast<std::size_t>(i)]).transpose();
  workspace.steps.resize(count, size_.symbols);
  products_.product(workspace.at_query, square(x, 0), workspace.steps);
  for (Eigen::Index i = 0; i < count; ++i) {
    const std::int32_t symbol = more[static_cast<std::size_t>(i)];
    workspace.product.col(symbol) = workspace.steps.row(i).transpose();
    workspace.is_query[static_cast<std::size_t>(symbol)] = true;
  }
}

void FullTopic::descend_factors(std::span<const double> x, Workspace& workspace,
                                std::span<double> out) const {
  std::vector<Eigen::Index> queries;
  for (std::size_t symbol = 0; symbol < workspace.is_query.size(); ++symbol)
    if (workspace.is_query[symbol]) queries.push_back(static_cast<Eigen::Index>(symbol));
  const auto count = static_cast<Eigen::Index>(queries.size());
  workspace.steps.resize(size_.symbols, count);
  workspace.at_query.resize(size_.symbols, count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const Eigen::Index symbol = queries[static_cast<std::size_t>(i)];
    workspace.steps.col(i) = workspace.by_query.col(symbol);
    workspace.at_query.col(i) = square(x, 1).col(symbol);
    workspace.by_query.col(symbol).setZero();
  }
  // dW_K = W_Q G', dW_Q = W_K G with G the step of Lambda; both computed before writing to `out`,
  // which may be x.
  workspace.first.resize(size_.symbols, size_.symbols);
  workspace.second.resize(size_.symbols, count);
  products_.product(square(x, 0), workspace.steps, workspace.second);
  products_.product_with_transpose(workspace.at_query, workspace.steps, workspace.first);
  products_.by_columns(size_.symbols, size_.symbols, [&](Eigen::Index first, Eigen::Index columns) {
    square(out, 0).middleCols(first, columns) += workspace.first.middleCols(first, columns);
  });
  for (Eigen::Index i = 0; i < count; ++i)
    square(out, 1).col(queries[static_cast<std::size_t>(i)]) += workspace.second.col(i);
}

void FullTopic::project_noise(StateView /*x*/, std::span<double> noise) const {
  // Symbols that no document shows are neither queries nor keys, and symbols at no selected
  // position are not queries. Because of the softmax the remaining columns of Lambda conserve their
  // sum: the step G has 1'G = 0. So W_K 1, whose step is W_Q G'1, is conserved, too.
  const bool mask_shows = data_.z_mask() > 0, words_show = data_.z_inside() > 0;
  const bool words_ask = data_.keep_prob + data_.random_prob > 0;
  const Eigen::Index n = size_.words;
  const auto keep_columns = [&](Matrix m, bool mask, bool words) {
    if (!mask) m.col(0).setZero();
    if (!words) m.rightCols(n).setZero();
  };
  if (embeds()) {
    // E's row of [MASK] does not enter the loss, so only its column has noise there.
    if (!mask_shows) square(noise, 0).col(0).setZero();
    return;
  }
  if (variant_.train == Train::attention)
    value(noise).setZero();
  else
    keep_columns(value(noise), mask_shows, words_show);
  if (!variant_.attends()) return;
  const Eigen::Index first = mask_shows ? 0 : 1;
  const Eigen::Index keys = (mask_shows ? 1 : 0) + (words_show ? n : 0);
  if (variant_.factored) {
    Matrix of_keys = square(noise, 0);
    keep_columns(of_keys, mask_shows, words_show);
    auto shown = of_keys.middleCols(first, keys);
    shown.colwise() -= shown.rowwise().mean().eval();
    keep_columns(square(noise, 1), mask_shows, words_ask);
    return;
  }
  Matrix logit = square(noise, 0);
  keep_columns(logit, mask_shows, words_ask);
  if (!words_show) logit.bottomRows(n).setZero();
  if (!mask_shows) logit.row(0).setZero();
  auto present = logit.middleRows(first, keys);
  present.rowwise() -= present.colwise().mean().eval();
}

}  // namespace popflow::topic
