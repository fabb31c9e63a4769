#include "dynamics/topic/system.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

#include "dynamics/topic.hpp"
#include "popflow/datasets.hpp"
#include "popflow/math.hpp"

namespace popflow::topic {

namespace {

constexpr const char* kValueNames[] = {"value_same_word", "value_same_topic", "value_other_topic",
                                       "value_mask"};
constexpr const char* kLogitNames[] = {"logit_same_word", "logit_same_topic", "logit_other_topic",
                                       "logit_mask_key",  "logit_word_key",   "logit_mask_mask"};

template <class S>
Values<S> read_values(const S* x) {
  return {x[0], x[1], x[2], x[3]};
}
template <class S>
Logits<S> read_logits(const S* x) {
  return {x[0], x[1], x[2], x[3], x[4], x[5]};
}
template <class S>
Block<S> read_block(const S* x) {
  return {x[0], x[1], x[2], x[3]};
}

// Offsets in the state.
constexpr std::size_t kAttention = value_entries;  // everything after W_V
constexpr std::size_t kBlocks = 4;                 // in factors, the blocks follow the scalars

// For the factors' scalars the state holds half the sum of key and query, then half the difference.
template <class S>
Factors<S> read_factors(const S* x) {
  return {{S(x[0] + x[1]), S(x[2] + x[3]), read_block(x + kBlocks)},
          {S(x[0] - x[1]), S(x[2] - x[3]), read_block(x + kBlocks + 4)}};
}
template <class S>
Subspaces<S> read_embedding(const S* x) {
  return {x[0], x[1], read_block(x + 2)};
}

/// Entries, by kind, of a matrix that multiplies the input.
template <class S>
Values<S> value_part(const Logits<S>& e) {
  return {e[logit_same_word], e[logit_same_topic], e[logit_other_topic], e[logit_word_key]};
}

template <class S>
Logits<S> uniform_attention() {
  Logits<S> logits;
  logits.fill(S(0.0));
  return logits;
}

}  // namespace

std::size_t index_of(std::string_view name, const std::vector<std::string>& names) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) throw std::logic_error("there is no " + std::string(name) + " here");
  return static_cast<std::size_t>(at - names.begin());
}

std::vector<StartField> start_fields(const Variant& variant) {
  if (variant.train == Train::embedding)
    return {{"embedding_within"}, {"embedding_between"}, {"embedding_block", 4}};
  std::vector<StartField> fields;
  for (const char* name : kValueNames) fields.push_back({name});
  if (!variant.attends()) return fields;
  if (!variant.factored) {
    for (const char* name : kLogitNames) fields.push_back({name});
    return fields;
  }
  for (const char* name : {"key_within", "query_within", "key_between", "query_between"})
    fields.push_back({name});
  for (const char* name : {"key_block", "query_block"}) fields.push_back({name, 4});
  return fields;
}

std::vector<StateBlock> state_blocks(const Data& data, const Variant& variant, double init_scale) {
  const double of_factors = init_scale == 0 ? 1 : std::min(1.0, std::abs(init_scale));
  // Outputs sum v entries of a topic and n of all words, and are of order 1/(tau v) per word.
  const double of_topic = 1 / data.v(), of_other = 1 / data.n();
  const double of_value[] = {of_topic, of_topic, of_other, of_other};
  std::vector<StateBlock> blocks;
  for (const StartField& field : start_fields(variant)) {
    double scale = of_factors;
    if (variant.train != Train::embedding && blocks.size() < value_entries)
      scale = of_value[blocks.size()];
    else if (variant.attends() && !variant.factored)
      scale = 1;
    blocks.push_back({field.name, field.size, scale});
  }
  if (variant.attends() && variant.factored) {
    const char* names[] = {"within_mean", "within_gap", "between_mean", "between_gap"};
    for (std::size_t i = 0; i < 4; ++i) blocks[kAttention + i].name = names[i];
  }
  return blocks;
}

void to_state(const Variant& variant, std::span<double> numbers) {
  if (!variant.attends() || !variant.factored) return;
  for (const std::size_t i : {kAttention, kAttention + 2}) {
    const double key = numbers[i], query = numbers[i + 1];
    numbers[i] = 0.5 * (key + query);
    numbers[i + 1] = 0.5 * (key - query);
  }
}

void to_fields(const Variant& variant, std::span<double> numbers) {
  if (!variant.attends() || !variant.factored) return;
  for (const std::size_t i : {kAttention, kAttention + 2}) {
    const double mean = numbers[i], gap = numbers[i + 1];
    numbers[i] = mean + gap;
    numbers[i + 1] = mean - gap;
  }
}

Topic::Topic(Data data, Variant variant, std::vector<double> start, double init_scale,
             std::vector<Note> notes)
    : data_(data),
      variant_(variant),
      start_fields_(std::move(start)),
      start_(start_fields_),
      notes_(std::move(notes)),
      queries_(data),
      value_flow_(data, variant.l2),
      events_({}) {
  to_state(variant_, start_);
  optimum_norm_ = value_norm(value_flow_.optimum(values(start_)));
  if (factored()) key_norm_ = std::sqrt(squared_norm(factors(start_).key, data_));
  describe(init_scale);
}

const SystemInfo& Topic::info() const { return topic::info(); }

Capabilities Topic::capabilities() const {
  Capabilities can{
      .gradient_flow = this,
      .jacobian = this,
      .sampled = Lacking{"single documents leave the symmetric coordinates; full matrices have a "
                         "sampled model"},
      .no_noise =
          "noise leaves the symmetric coordinates, because it moves each entry separately; "
          "full matrices allow it"};
  if (!shape_.events.empty()) can.events = this;
  if (variant_.train == Train::value) can.closed_form = this;
  return can;
}

void Topic::describe(double init_scale) {
  shape_.blocks = state_blocks(data_, variant_, init_scale);
  bool has_block = false;
  for (const StartField& field : start_fields(variant_)) {
    shape_.fields.push_back(field.name);
    has_block = has_block || field.size > 1;
  }
  // Functions of the state that are recorded for convenience.
  if (variant_.train == Train::embedding)
    shape_.fields.insert(shape_.fields.end(), std::begin(kValueNames), std::end(kValueNames));
  if (factored())
    shape_.fields.insert(shape_.fields.end(), std::begin(kLogitNames), std::end(kLogitNames));
  if (has_block)
    shape_.dimensions = {dimension(info(), "block_out", 2), dimension(info(), "block_in", 2)};

  if (variant_.train == Train::joint || variant_.train == Train::value)
    shape_.events.emplace_back("stage1_end");
  if (factored()) shape_.events.emplace_back("stage2_start");
  events_ = events().select(shape_.events);
  multiplicities_ = multiplicities();
  shape_.constants = {{"z_mask", data_.z_mask()},
                      {"z_inside", data_.z_inside()},
                      {"z_outside", data_.z_outside()},
                      {"value_norm_optimum", value_norm(value_flow_.optimum())}};
}

std::vector<double> Topic::multiplicities() const {
  const double within = data_.T() * (data_.v() - 1), between = data_.T() - 1;
  if (variant_.train == Train::embedding) return {within, between, 1, 1, 1, 1};
  const auto of_value = value_multiplicities(data_);
  std::vector<double> all(of_value.begin(), of_value.end());
  if (variant_.train == Train::attention) all.assign(value_entries, 0.0);
  if (factored()) {
    // key^2 + query^2 = 2 (mean^2 + gap^2)
    all.insert(all.end(), {2 * within, 2 * within, 2 * between, 2 * between});
    all.insert(all.end(), 8, 1.0);
  } else if (variant_.attends()) {
    const auto of_logit = logit_multiplicities(data_);
    all.insert(all.end(), of_logit.begin(), of_logit.end());
  }
  return all;
}

GroupSpec Topic::problem() const {
  GroupSpec group;
  group.name = "problem";
  group.attributes = {{"topics", data_.topics},
                      {"words_per_topic", data_.words_per_topic},
                      {"topics_per_document", data_.topics_per_document},
                      {"mask_prob", data_.mask_prob},
                      {"keep_prob", data_.keep_prob},
                      {"random_prob", data_.random_prob}};
  std::size_t first = 0;
  for (const StartField& field : start_fields(variant_)) {
    std::vector<std::string> dimensions;
    if (field.size > 1) dimensions = {"block_out", "block_in"};
    VariableSpec variable = dataset(field.name, dimensions, "start of " + field.name);
    const auto begin = start_fields_.begin() + static_cast<std::ptrdiff_t>(first);
    variable.data = std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(field.size));
    group.variables.push_back(std::move(variable));
    first += field.size;
  }
  return group;
}

double Topic::attention_time() const {
  // The estimate assumes a start near uniform attention, with W_V fixed at the start or at the end
  // of its own training.
  const Values<double> start = values(start_);
  const Values<double> W = variant_.train == Train::attention ? start : value_flow_.optimum(start);
  const Gradient<double> g = loss_gradient(data_, queries_, W, uniform_attention<double>());
  if (!variant_.factored) {
    double fastest = 0;
    for (const double by : g.logit) fastest = std::max(fastest, std::abs(by));
    return 4 / fastest;
  }
  // Factors grow as exp(r t), each subspace at its own rate, until they are of order 1.
  Subspaces<double> G = subspaces(g.logit, data_);
  drop_empty(G, data_);
  const double r = std::max(std::abs(G.within), std::abs(G.between));
  const double block = std::sqrt(multiply(transpose(G.block), G.block)[0]);
  return 2 * (1 + std::max(0.0, math::log(data_.n()) / 2 - math::log(key_norm_))) /
         (r > 0 ? r : block);
}

double Topic::default_end() const {
  const double from_zero = 10 / value_flow_.slowest_rate({0, 0, 0, 0});
  switch (variant_.train) {
    case Train::value:
      return two_digits(10 / value_flow_.slowest_rate(values(start_)));
    case Train::embedding:
      // The embedding's inner products start at the square of its size.
      return two_digits(4 * from_zero);
    default:
      break;
  }
  // If the attention hardly matters (for example with one topic), this time diverges.
  constexpr double kPatience = 1000;
  const double limit = kPatience * from_zero;
  const double time = attention_time();
  return two_digits(time < limit ? std::max(time, from_zero) : limit);
}

double Topic::first_stage_time() const {
  if (variant_.train != Train::joint) return 0;
  constexpr double kSettled = 5;  // W_V is within 1% of its optimum
  return two_digits(kSettled / value_flow_.slowest_rate(values(start_)));
}

std::vector<Note> Topic::notes() const {
  std::vector<Note> notes = notes_;
  // An explicit method's step is limited to about 3.3 over the fastest rate, however slow the other
  // rates are.
  constexpr double kExplicit = 3.3, kMany = 1000;
  const double rate = value_flow_.fastest_rate();
  if (variant_.train == Train::attention || default_end() * rate < kExplicit * kMany) return notes;
  std::ostringstream text;
  text.precision(2);
  text << "W_V converges at the rate " << rate << ", which limits explicit methods to steps of "
       << kExplicit / rate << "; --method rosenbrock4 has no such limit";
  notes.push_back({text.str()});
  return notes;
}

void Topic::start(std::span<double> x) const { std::copy(start_.begin(), start_.end(), x.begin()); }

template <class S>
void Topic::flow(const S* x, S* dxdt) const {
  if (variant_.train == Train::embedding) {
    // E = W_E'W_E: dW_E/dt = -W_E (G + G') with G = dL/dE.
    const Subspaces<S> factor = read_embedding(x);
    const Subspaces<S> E = multiply(transpose(factor), factor);
    const Gradient<S> g =
        loss_gradient(data_, queries_, value_part(entries(E, data_)), uniform_attention<S>());
    const Values<S>& by = g.value;
    Subspaces<S> G = subspaces<S>(
        {by[same_word], by[same_topic], by[other_topic], S(0.0), by[mask_column], S(0.0)}, data_);
    G.within += 2 * variant_.l2 * E.within;
    G.between += 2 * variant_.l2 * E.between;
    for (std::size_t i = 0; i < 4; ++i) G.block[i] += 2 * variant_.l2 * E.block[i];
    drop_empty(G, data_);
    Block<S> twice = transpose(G.block);
    for (std::size_t i = 0; i < 4; ++i) twice[i] += G.block[i];
    const Block<S> by_block = multiply(factor.block, twice);
    dxdt[0] = -2 * factor.within * G.within;
    dxdt[1] = -2 * factor.between * G.between;
    for (std::size_t i = 0; i < 4; ++i) dxdt[2 + i] = -by_block[i];
    return;
  }

  const Values<S> W = read_values(x);
  Logits<S> logits = uniform_attention<S>();
  Factors<S> factor;
  if (factored()) {
    factor = read_factors(x + kAttention);
    logits = entries(multiply(transpose(factor.key), factor.query), data_);
  } else if (variant_.attends()) {
    logits = read_logits(x + kAttention);
  }

  const Gradient<S> g = loss_gradient(data_, queries_, W, logits);
  for (std::size_t i = 0; i < value_entries; ++i) {
    if (variant_.train == Train::attention || queries_.per_value[i] == 0)
      dxdt[i] = S(0.0);
    else
      dxdt[i] = -g.value[i] - 2 * variant_.l2 * W[i];
  }
  if (factored()) {
    // dW_K/dt = -W_Q G', dW_Q/dt = -W_K G with G = dL/dLambda.
    Subspaces<S> G = subspaces(g.logit, data_);
    drop_empty(G, data_);
    const S* at = x + kAttention;
    S* down = dxdt + kAttention;
    down[0] = -at[0] * G.within;
    down[1] = at[1] * G.within;
    down[2] = -at[2] * G.between;
    down[3] = at[3] * G.between;
    const Block<S> by_key = multiply(factor.query.block, transpose(G.block));
    const Block<S> by_query = multiply(factor.key.block, G.block);
    for (std::size_t i = 0; i < 4; ++i) {
      down[kBlocks + i] = -by_key[i];
      down[kBlocks + 4 + i] = -by_query[i];
    }
  } else if (variant_.attends()) {
    for (std::size_t i = 0; i < logit_entries; ++i) dxdt[kAttention + i] = -g.logit[i];
  }
}

void Topic::rhs(StateView x, double /*t*/, std::span<double> dxdt) const {
  flow(x.data(), dxdt.data());
}

double Topic::loss(StateView x, double /*t*/) const {
  const Values<double> W = values(x);
  if (variant_.train == Train::value) return value_flow_.excess_loss(W);
  const double norm = norm_of_value(x);
  return loss_gradient(data_, queries_, W, logits(x)).loss + variant_.l2 * norm * norm;
}

void Topic::precondition(StateView /*x*/, std::span<double> v) const {
  for (std::size_t i = 0; i < v.size(); ++i)
    v[i] = multiplicities_[i] > 0 ? v[i] / multiplicities_[i] : 0;
}

void Topic::jacobian(StateView x, double /*t*/, Eigen::Ref<Eigen::MatrixXd> j,
                     std::span<double> time_derivative) const {
  std::array<Dual, largest_state> at, derivative;
  at.fill(Dual(0.0));
  derivative.fill(Dual(0.0));
  for (std::size_t i = 0; i < x.size(); ++i) at[i] = Dual(x[i], largest_state, static_cast<int>(i));
  flow(at.data(), derivative.data());
  const auto size = static_cast<Eigen::Index>(x.size());
  for (Eigen::Index i = 0; i < size; ++i)
    j.row(i) = derivative[static_cast<std::size_t>(i)].derivatives().head(size).transpose();
  std::fill(time_derivative.begin(), time_derivative.end(), 0.0);
}

Values<double> Topic::values(std::span<const double> x) const {
  if (variant_.train != Train::embedding) return read_values(x.data());
  const Subspaces<double> factor = read_embedding(x.data());
  return value_part(entries(multiply(transpose(factor), factor), data_));
}

Logits<double> Topic::logits(std::span<const double> x) const {
  if (!variant_.attends()) return uniform_attention<double>();
  if (!variant_.factored) return read_logits(x.data() + kAttention);
  const Factors<double> factor = factors(x);
  return entries(multiply(transpose(factor.key), factor.query), data_);
}

Factors<double> Topic::factors(std::span<const double> x) const {
  return read_factors(x.data() + kAttention);
}

double Topic::value_norm(const Values<double>& W) const {
  const auto multiplicity = value_multiplicities(data_);
  double sum = 0;
  for (std::size_t i = 0; i < value_entries; ++i) sum += multiplicity[i] * W[i] * W[i];
  return std::sqrt(sum);
}

double Topic::norm_of_value(std::span<const double> x) const {
  if (variant_.train != Train::embedding) return value_norm(values(x));
  const Subspaces<double> factor = read_embedding(x.data());
  return std::sqrt(squared_norm(multiply(transpose(factor), factor), data_));
}

void Topic::observe(StateView x, double /*t*/, std::span<double> values_out) const {
  const Values<double> W = values(x);
  const Logits<double> logit = logits(x);
  Evaluation evaluation;
  evaluation.loss = loss_gradient(data_, queries_, W, logit).loss;
  evaluation.norm_value = norm_of_value(x);
  evaluation.penalty = variant_.l2 * evaluation.norm_value * evaluation.norm_value;
  if (variant_.train == Train::value) evaluation.excess = value_flow_.excess_loss(W);

  // Attention of a query that is a word of the document, relative to the frequency of the key.
  const double known[] = {logit[logit_same_word], logit[logit_same_topic], logit[logit_other_topic],
                          logit[logit_mask_key]};
  const double frequency[] = {
      data_.z_inside(), (data_.v() - 1) * data_.z_inside(),
      (data_.tau() - 1) * data_.v() * data_.z_inside() + data_.outside() * data_.z_outside(),
      data_.z_mask()};
  const double shift = *std::max_element(std::begin(known), std::end(known));
  double sum = 0;
  for (std::size_t i = 0; i < 4; ++i) sum += frequency[i] * math::exp(known[i] - shift);
  const auto relative = [&](LogitEntry entry) { return math::exp(logit[entry] - shift) / sum; };

  evaluation.attention = {relative(logit_same_word),
                          data_.words_per_topic > 1 ? relative(logit_same_topic) : undefined,
                          data_.topics > 1 ? relative(logit_other_topic) : undefined};

  double norm_logit = 0;
  const auto logit_of = logit_multiplicities(data_);
  for (std::size_t i = 0; i < logit_entries; ++i) norm_logit += logit_of[i] * logit[i] * logit[i];
  evaluation.norm_logit = std::sqrt(norm_logit);
  if (factored()) {
    const Factors<double> factor = factors(x);
    evaluation.norm_key = std::sqrt(squared_norm(factor.key, data_));
    evaluation.norm_query = std::sqrt(squared_norm(factor.query, data_));
  }
  observables().evaluate(evaluation, values_out);
}

void Topic::field(std::string_view name, StateView x, double /*t*/, const FieldSink& sink) const {
  const std::size_t i = index_of(name, shape_.fields);
  if (i < shape_.blocks.size()) {
    std::array<double, largest_state> numbers;
    std::copy(x.begin(), x.end(), numbers.begin());
    to_fields(variant_, {numbers.data(), x.size()});
    std::size_t first = 0;
    for (std::size_t block = 0; block < i; ++block) first += shape_.blocks[block].size;
    sink(0, {numbers.data() + first, shape_.blocks[i].size});
    return;
  }
  const std::size_t which = i - shape_.blocks.size();
  const double value = variant_.train == Train::embedding ? values(x)[which] : logits(x)[which];
  sink(0, {&value, 1});
}

void Topic::event_functions(StateView x, double /*t*/, std::span<double> functions) const {
  EventEvaluation evaluation{.norm_value_at_end = optimum_norm_, .norm_key_at_start = key_norm_};
  if (variant_.train == Train::joint || variant_.train == Train::value)
    evaluation.norm_value = value_norm(values(x));
  if (factored()) evaluation.norm_key = std::sqrt(squared_norm(factors(x).key, data_));
  events_.evaluate(evaluation, functions);
}

void Topic::closed_form(double t, std::span<double> x) const {
  const Values<double> W = value_flow_.at(t, values(start_));
  std::copy(W.begin(), W.end(), x.begin());
}

}  // namespace popflow::topic
