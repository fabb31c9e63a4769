#include "dynamics/joma_joint/system.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "dynamics/joma_joint.hpp"
#include "dynamics/joma_joint/entropy.hpp"
#include "dynamics/joma_joint/spectrum.hpp"
#include "popflow/datasets.hpp"
#include "popflow/error.hpp"
#include "popflow/math.hpp"
#include "popflow/parameter.hpp"

namespace popflow::joma_joint {
namespace {

using Eigen::Index;

// A rate smaller than this fraction of its terms counts as rounding of zero, as does a rate without
// terms. So a state at rest triggers no event.
constexpr double kZeroTolerance = 1e-9;
double rounding(double size) { return kZeroTolerance * size + std::numeric_limits<double>::min(); }

std::size_t count(Index n) { return static_cast<std::size_t>(n); }

// Events are extrema of the attention's entropy and of the stable rank's logarithm: for each a
// maximum, whose height is the negative quantity, and a minimum.
bool is_rank_event(std::size_t event) { return event >= 2; }
double sign_of(std::size_t event) { return event % 2 == 0 ? -1 : 1; }

}  // namespace

JomaJoint::JomaJoint(Problem problem, const Variant& variant, Workers& workers)
    : problem_(std::move(problem)),
      variant_(variant),
      M_(problem_.tokens()),
      C_(problem_.classes()),
      K_(problem_.nodes()),
      work_([this] { return make_work(); }),
      workers_(workers),
      events_({}) {
  const Start& s = problem_.start;
  if (variant.backprop == Backprop::cross_entropy && K_ != C_)
    throw UsageError("--backprop cross-entropy needs as many nodes as classes, but --nodes is " +
                     std::to_string(K_) + " and --classes is " + std::to_string(C_));
  if (variant.attention == AttentionKind::linear) {
    if (s.z.isZero(0) && s.V.isZero(0))
      throw UsageError(
          "with --attention linear V and z both start at 0, where they do not move; "
          "choose --init-logit or --init-scale above 0");
    const Eigen::VectorXd room = s.z.cwiseAbs2() - s.V.colwise().squaredNorm().transpose();
    Index token = 0;
    if (variant.integrated && !(room.minCoeff(&token) > 0))
      throw UsageError(
          "--coordinates integrated with --attention linear needs z^2 > sum_k v_k^2 at "
          "the start, so that z keeps its sign; at token " +
          std::to_string(token) + " z is " + shortest(s.z[token]) + " and sum_k v_k^2 is " +
          shortest(s.V.col(token).squaredNorm()) +
          "; raise --init-logit or use --coordinates full");
  }
  if (variant.sharp() && !variant.noisy) kinks_ = count(K_ * C_);
  describe();
  events_ = event_table().select(shape_.events);
  start_.assign(shape_.state_size(), 0.0);
  std::copy(s.V.data(), s.V.data() + s.V.size(), start_.begin());
  std::copy(s.r.begin(), s.r.end(), start_.begin() + M_ * K_);
  if (!variant.integrated) std::copy(s.z.begin(), s.z.end(), start_.begin() + M_ * K_ + K_);
  set_theorem();
  set_first_regime();
}

JomaJoint::Work::Work(const JomaJoint& of)
    : flow(of.problem_.X, of.variant_.attention, of.variant_.temperature, of.outputs(), of.K_,
           of.workers_),
      z(of.problem_.start.z) {}

Outputs JomaJoint::outputs() const {
  return {variant_.activation, variant_.backprop, variant_.smoothing, K_, problem_.p};
}

std::unique_ptr<JomaJoint::Work> JomaJoint::make_work() const {
  auto work = std::make_unique<Work>(*this);
  if (variant_.integrated && theorem_) work->flow.follow(*theorem_);
  return work;
}

/// Sets the theorem relative to the start, with the start's mean attention as a constant.
void JomaJoint::set_theorem() {
  const Start& s = problem_.start;
  const auto work = work_.borrow();
  theorem_ =
      std::make_unique<Theorem>(variant_.attention, variant_.temperature, s,
                                work->flow.mean_attention(Attention::Vector(s.z.data(), M_)));
  if (variant_.integrated) work->flow.follow(*theorem_);
}

const SystemInfo& JomaJoint::info() const { return joma_joint::info(); }

Capabilities JomaJoint::capabilities() const {
  Capabilities can{.events = this};
  if (kinks_ > 0) can.switching = this;
  if (variant_.integrated) {
    can.no_other_rule = "z follows from V only along gradient flow; --coordinates full trains both";
    can.no_noise =
        "with noise only --coordinates full is exact, because z follows from V along the flow, but "
        "not in discrete or noisy steps";
    can.sampled = Lacking{can.no_noise};
    return can;
  }
  can.sampled = this;
  if (has_noisy_step() && NoisyStep::pays()) can.sampled_steps = this;
  can.noise_projection = this;
  if (variant_.attention == AttentionKind::softmax || variant_.activation != Activation::identity ||
      variant_.backprop != Backprop::stationary)
    can.sampling_bias = {"a sampled context is of finite length; the flow is its limit",
                         "context-length", std::int64_t{1'000'000'000'000}};
  // Along a slide phi' is the value that keeps h on its surface, so the flow is no gradient. With
  // noise phi' of a sharp relu jumps.
  if (!variant_.sharp()) can.gradient_flow = this;
  return can;
}

void JomaJoint::describe() {
  // An entry of V is significant at the size of the start's entries, h at order 1.
  const auto size = [](const auto& start) {
    const double largest = start.cwiseAbs().maxCoeff();
    return largest > 0 ? std::min(1.0, largest) : 1.0;
  };
  shape_.blocks = {{"V", count(M_ * K_), size(problem_.start.V)},
                   {"r", count(K_), size(problem_.start.r)}};
  const double logit =
      variant_.attention == AttentionKind::linear ? 1.0 : std::min(1.0, variant_.temperature);
  if (!variant_.integrated) shape_.blocks.push_back({"z", count(M_), logit});
  shape_.dimensions = {dimension(info(), "token", count(M_)), dimension(info(), "node", count(K_)),
                       dimension(info(), "class", count(C_))};
  shape_.fields = {"V", "r", "z"};
  shape_.events = {"entropy_falls", "entropy_minimum", "rank_falls", "rank_minimum"};
  shape_.invariants.clear();
  if (variant_.attention == AttentionKind::softmax)
    shape_.invariants.emplace_back("logit_sum");
  else
    shape_.invariants.emplace_back("theorem_residual");
  if (variant_.integrated && variant_.attention == AttentionKind::softmax)
    shape_.approximation =
        "--coordinates integrated is an approximation with softmax attention: z follows the "
        "theorem with the mean attention of the start";
}

GroupSpec JomaJoint::problem() const {
  GroupSpec group;
  group.name = "problem";
  const Start& s = problem_.start;
  VariableSpec X = dataset("X", {"token", "class"}, "context distributions, columns sum to 1");
  X.data = row_major(problem_.X);
  VariableSpec p = dataset("class_weight", {"class"}, "probability of a class");
  p.data = std::vector<double>(problem_.p.begin(), problem_.p.end());
  VariableSpec V = dataset("V0", {"token", "node"}, "start of the hidden layer's weights");
  V.data = std::vector<double>(s.V.data(), s.V.data() + s.V.size());
  VariableSpec r = dataset("r0", {"node"}, "start of the residual weights");
  r.data = std::vector<double>(s.r.begin(), s.r.end());
  VariableSpec z = dataset("z0", {"token"}, "start of the attention logits");
  z.data = std::vector<double>(s.z.begin(), s.z.end());
  for (VariableSpec* v : {&X, &p, &V, &r, &z}) group.variables.push_back(std::move(*v));
  return group;
}

double JomaJoint::default_end() const {
  // A node meets its class with probability p_c, so its time scale is about the number of classes;
  // the attention moves after about 10 of these times. From small starts the square activation
  // leaves its saddle late. With stationary back-propagation the weights grow without bound: the
  // flow ends earlier, before a blow-up.
  const bool square = variant_.activation == Activation::square;
  const double times =
      variant_.backprop == Backprop::stationary ? (square ? 10 : 5) : (square ? 50 : 30);
  return two_digits(times * static_cast<double>(C_));
}

std::vector<Note> JomaJoint::notes() const {
  std::vector<Note> notes;
  if (kinks_ > 0)
    notes.push_back(
        {"the relu's derivative jumps at h = 0. The flow slides along such surfaces (Filippov), "
         "at a cost that grows with the cube of their number; --relu-smoothing integrates a "
         "smooth relu instead"});
  if (!shape_.approximation.empty()) notes.push_back({shape_.approximation});
  const bool bounded = variant_.activation == Activation::tanh;
  if (variant_.backprop == Backprop::stationary && bounded)
    notes.push_back({"--backprop stationary has no minimum: the weights grow without bound"});
  else if (variant_.backprop == Backprop::stationary)
    notes.push_back({"--backprop stationary has no minimum: the loss falls without bound" +
                     std::string(variant_.attention == AttentionKind::softmax
                                     ? ""
                                     : ", and weights may blow up in finite time")});
  const bool rests = variant_.activation == Activation::square || variant_.sharp();
  if (rests && problem_.start.V.isZero(0) && problem_.start.r.isZero(0))
    notes.push_back({"V and r start at 0, where phi' is 0, so that nothing moves"});
  return notes;
}

void JomaJoint::start(std::span<double> x) const {
  std::copy(start_.begin(), start_.end(), x.begin());
}

Point JomaJoint::point(StateView x, Work& work) const {
  if (x.regime.size() != kinks_)
    throw std::logic_error("the regime of joma-joint has " + std::to_string(kinks_) +
                           " entries; the caller gave " + std::to_string(x.regime.size()));
  const double* sides = kinks_ > 0 ? x.regime.data() : nullptr;
  const double* V = x.data();
  const double* r = V + M_ * K_;
  const double* rest = r + K_;
  const Attention::Matrix weights(V, K_, M_);
  if (variant_.integrated) {
    theorem_->predict(weights, work.z);
    return {weights, Attention::Vector(r, K_), Attention::Vector(work.z.data(), M_), sides};
  }
  return {weights, Attention::Vector(r, K_), Attention::Vector(rest, M_), sides};
}

Point JomaJoint::move_to(StateView x, Work& work) const {
  const Point at = point(x, work);
  if (!work.known.at(x, workers_)) work.known.move_to(x, workers_);
  return at;
}

Point JomaJoint::attend(StateView x, Work& work) const {
  const Point at = move_to(x, work);
  if (!work.known.attended) work.flow.attend(at);
  work.known.attended = true;
  return at;
}

Point JomaJoint::evaluate(StateView x, Work& work) const {
  const Point at = move_to(x, work);
  if (!work.known.evaluated) work.flow.at(at, work.known.attended);
  work.known.attended = work.known.evaluated = true;
  return at;
}

Velocity JomaJoint::velocity_in(std::span<double> dxdt) const {
  double* r = dxdt.data() + M_ * K_;
  return {dxdt.data(), r, variant_.integrated ? nullptr : r + K_};
}

void JomaJoint::rhs(StateView x, double /*t*/, std::span<double> dxdt) const {
  const auto work = work_.borrow();
  const Point at = evaluate(x, *work);
  const Velocity into = velocity_in(dxdt);
  work->flow.velocity(at, into);
  if (into.z != nullptr) work->known.dz = Attention::Vector(into.z, M_);
}

double JomaJoint::loss(StateView x, double /*t*/) const {
  const auto work = work_.borrow();
  evaluate(x, *work);
  return work->flow.outputs().loss(work->flow.phi());
}

Eigen::VectorXd JomaJoint::logits(StateView x) const { return point(x, *work_.borrow()).z; }

// ---- noise

const Sampler& JomaJoint::sampler() const {
  std::call_once(sampler_made_, [this] {
    sampler_ = std::make_unique<Sampler>(problem_, variant_.attention, variant_.temperature,
                                         outputs(), variant_.context_length, workers_);
  });
  return *sampler_;
}

Point JomaJoint::full_point(StateView x) const {
  return {Attention::Matrix(x.data(), K_, M_), Attention::Vector(x.data() + M_ * K_, K_),
          Attention::Vector(x.data() + M_ * K_ + K_, M_)};
}

void JomaJoint::add_sampled(StateView x, double /*t*/, const SampleKey& key,
                            std::span<const double> weights, std::span<double> out) const {
  double* r = out.data() + M_ * K_;
  sampler().add(full_point(x), key, weights, {out.data(), r, r + K_});
}

double JomaJoint::numbers_of_sample() const {
  const std::int64_t length = variant_.context_length;
  const auto M = static_cast<double>(M_), K = static_cast<double>(K_);
  // A row of X and half of B, the context itself, and four numbers a node.
  if (ContextLaw::dense(M_, length)) return 2.5 * M + 4 * K;
  // Each distinct token stores its number, its share, its value, and its place among all tokens.
  return 4 * std::min(static_cast<double>(length), M) + K;
}

bool JomaJoint::has_noisy_step() const {
  return variant_.attention == AttentionKind::softmax &&
         variant_.activation == Activation::identity &&
         variant_.backprop == Backprop::cross_entropy && NoisyStep::serves(K_, M_, C_) &&
         ContextLaw::dense(M_, variant_.context_length);
}

bool JomaJoint::step_sampled(std::span<double> x, double /*t*/, double h, const SampleKey& key,
                             std::span<const double> weights) const {
  double* r = x.data() + M_ * K_;
  return sampler().step(full_point(x), h, key, weights, {x.data(), r, r + K_});
}

void JomaJoint::project_noise(StateView /*x*/, std::span<double> noise) const {
  // Invariants of every single sample. A sample moves v_{k,l} by w_k b_l and r_k by w_k. With
  // softmax, where sum_l b_l = 1, it therefore conserves sum_l v_{k,l} - r_k, and sum_l z_l. Tokens
  // that occur in no class never move. With phi' = 1 the w are the g of a class: sum_k g_k = 0
  // unless the class has no node, and constant g are the same for all nodes without a class.
  Eigen::Map<Eigen::MatrixXd> V(noise.data(), K_, M_);
  Eigen::Map<Eigen::VectorXd> r(noise.data() + M_ * K_, K_);
  Eigen::Map<Eigen::VectorXd> z(noise.data() + M_ * K_ + K_, M_);
  const auto drawn = [&](Index c) { return c < C_ && problem_.p[c] > 0; };
  const bool identity = variant_.activation == Activation::identity;
  const bool constant = identity && variant_.backprop == Backprop::stationary;
  bool balanced = identity;
  Index idle = 0;  // number of nodes without a class
  for (Index c = K_; constant && c < C_; ++c) balanced = balanced && !drawn(c);
  for (Index k = 0; constant && k < K_; ++k) idle += drawn(k) ? 0 : 1;
  const auto over_nodes = [&](auto&& column) {
    if (idle > 1) {
      double sum = 0;
      for (Index k = 0; k < K_; ++k) sum += drawn(k) ? 0 : column[k];
      for (Index k = 0; k < K_; ++k)
        if (!drawn(k)) column[k] = sum / static_cast<double>(idle);
    }
    if (balanced) column.array() -= column.mean();
  };
  const auto occurs = [&](Index l) { return problem_.X.row(l).dot(problem_.p) > 0; };

  over_nodes(r);
  double sum = 0;
  double seen = 0;
  Eigen::VectorXd excess = -r;  // sum_l v_{k,l} - r_k
  for (Index l = 0; l < M_; ++l) {
    if (!occurs(l)) {
      V.col(l).setZero();
      z[l] = 0;
      continue;
    }
    over_nodes(V.col(l));
    excess += V.col(l);
    sum += z[l];
    ++seen;
  }
  if (variant_.attention != AttentionKind::softmax) return;
  excess /= seen + 1;
  r += excess;
  for (Index l = 0; l < M_; ++l) {
    if (!occurs(l)) continue;
    V.col(l) -= excess;
    z[l] -= sum / seen;
  }
}

// ---- observables and events

double JomaJoint::entropy(Work& work) const {
  if (!work.known.entropy)
    work.known.entropy = attention_entropy(work.flow.attention().unscaled(), problem_.p, workers_);
  return *work.known.entropy;
}

const LeadingTriplet& JomaJoint::leading(const Point& at, Work& work) const {
  if (!work.known.leading) work.known.leading = leading_direction(at.V, workers_);
  return *work.known.leading;
}

void JomaJoint::observe(StateView x, double /*t*/, std::span<double> values) const {
  const auto work = work_.borrow();
  const Point at = evaluate(x, *work);
  const Evaluation evaluation{work->flow,
                              at,
                              *theorem_,
                              entropy(*work),
                              leading(at, *work).stable_rank,
                              theorem_->correlations(at.V, at.z)};
  observable_table().evaluate(evaluation, values);
}

void JomaJoint::event_functions(StateView x, double /*t*/, std::span<double> values) const {
  const auto work = work_.borrow();
  const Point at = evaluate(x, *work);
  StateCache& known = work->known;
  if (!known.dz) {
    work->velocity.resize(count(M_ * K_ + K_));
    known.dz.emplace(M_);
    double* V = work->velocity.data();
    work->flow.velocity(at, {V, V + M_ * K_, known.dz->data()});
  }
  // d|b_l| = |b_l| dz_l/tau, or |b_l| dz_l/z_l: where z_l = 0, there is no attention on l.
  Eigen::VectorXd log_rates = *known.dz / variant_.temperature;
  if (variant_.attention == AttentionKind::linear)
    log_rates = (at.z.array() == 0).select(0, known.dz->cwiseQuotient(at.z));
  const Attention& attention = work->flow.attention();
  const Entropy entropy =
      attention_entropy_and_rate(attention.unscaled(), problem_.p, log_rates, workers_);
  known.entropy = entropy.value;
  Rates rates;
  rates.entropy = entropy.rate;
  rates.entropy_rounding = rounding(entropy.rate_size);
  double size = 0;
  rates.rank =
      stable_rank_log_rate(at.V, attention, work->flow.weights(), leading(at, *work), &size);
  rates.rank_rounding = rounding(size);
  events_.evaluate(rates, values);
  for (double& value : values)
    if (!std::isfinite(value)) value = -1;
}

double JomaJoint::event_height(std::size_t event, StateView x, double /*t*/) const {
  const auto work = work_.borrow();
  if (!is_rank_event(event)) {
    attend(x, *work);
    return sign_of(event) * entropy(*work);
  }
  const Point at = move_to(x, *work);
  std::optional<double>& rank = work->known.rank;
  if (!rank) rank = stable_rank(at.V, workers_);
  return sign_of(event) * math::log(*rank);
}

double JomaJoint::rough_event_height(std::size_t event, StateView x, double t, double low,
                                     double high) const {
  if (!is_rank_event(event)) {
    if (const std::optional<double> height = quick_entropy_height(event, x, low, high))
      return *height;
    return event_height(event, x, t);
  }
  const double ends[] = {math::exp(sign_of(event) * low), math::exp(sign_of(event) * high)};
  return sign_of(event) *
         math::log(rough_rank(Attention::Matrix(x.data(), K_, M_), std::min(ends[0], ends[1]),
                              std::max(ends[0], ends[1])));
}

double JomaJoint::rough_rank(const Attention::Matrix& V, double low, double high) const {
  // Steps of a flow are too long for bounds.
  if (!variant_.noisy || !RankBracket::pays(V)) return rough_stable_rank(V, low, high, workers_);
  const auto bracket = brackets_.borrow([&](const RankBracket& one) { return one.seems_near(V); });
  if (const auto bounds = bracket->at(V, workers_);
      bounds && low < bounds->low && bounds->high < high) {
    bracket->count_answer();
    return std::sqrt(bounds->low * bounds->high);
  }
  const double rank = rough_stable_rank(V, low, high, workers_);
  if (low < rank && rank < high) bracket->make_reference(V, workers_);
  return rank;
}

std::optional<double> JomaJoint::quick_entropy_height(std::size_t event, StateView x, double low,
                                                      double high) const {
  // Along a flow the attention is computed in any case, so the quick entropy saves nothing.
  if (!variant_.noisy) return std::nullopt;
  std::call_once(quick_entropy_made_, [this] {
    quick_entropy_ = std::make_unique<QuickEntropy>(problem_.X, problem_.p, variant_.attention,
                                                    variant_.temperature, workers_);
  });
  const auto found = (*quick_entropy_)(Attention::Vector(x.data() + M_ * K_ + K_, M_));
  if (!found) return std::nullopt;
  const double height = sign_of(event) * found->entropy;
  if (height - found->error > low && height + found->error < high) return height;
  return std::nullopt;
}

void JomaJoint::field(std::string_view name, StateView x, double /*t*/,
                      const FieldSink& sink) const {
  const auto work = work_.borrow();
  const Point at = point(x, *work);
  if (name == "V") sink(0, {at.V.data(), count(at.V.size())});
  if (name == "r") sink(0, {at.r.data(), count(K_)});
  if (name == "z") sink(0, {at.z.data(), count(M_)});
}

}  // namespace popflow::joma_joint
