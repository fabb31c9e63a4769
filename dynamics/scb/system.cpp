#include "dynamics/scb/system.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "dynamics/scb.hpp"
#include "dynamics/scb/growth.hpp"
#include "popflow/datasets.hpp"
#include "popflow/error.hpp"
#include "popflow/parameter.hpp"
#include "popflow/state.hpp"

namespace popflow::scb {

namespace {

// Up to this size, the dense Q is written in addition to the sparse one.
constexpr double kDenseBytes = 64.0 * 1024 * 1024;

std::size_t size_of(const std::vector<StateBlock>& blocks) {
  return std::accumulate(blocks.begin(), blocks.end(), std::size_t{0},
                         [](std::size_t sum, const StateBlock& b) { return sum + b.size; });
}

/// Divides each column whose sum is positive by this sum. Returns the number of the other columns.
Eigen::Index normalise_columns(Eigen::MatrixXd& V) {
  Eigen::Index without = 0;
  for (Eigen::Index m = 0; m < V.cols(); ++m) {
    const double sum = V.col(m).sum();
    if (sum > 0)
      V.col(m) /= sum;
    else
      ++without;
  }
  return without;
}

}  // namespace

Scb::Scb(Problem problem, Variant variant, Coordinates coordinates, Start start,
         const Training& training, Workers& workers)
    : problem_(std::move(problem)),
      variant_(variant),
      coordinates_(coordinates),
      start_(std::move(start)),
      training_(training),
      workers_(workers),
      transition_(problem_.P, problem_.mu) {
  const Columns columns(problem_.Q, problem_.mu, variant_);
  kappa_ = columns.kappa();
  const double kappa_0 = kappa_ + columns.uniform();
  loss_minimum_ = 0.5 * (1 - transition_.mean.squaredNorm() - kappa_0 * transition_.K_P);
  no_signal_V_ = transition_.K_P <= kZeroTolerance * transition_.norm2;
  no_signal_A_ = kappa_ <= kZeroTolerance * kappa_0;
  if (coordinates_ == Coordinates::signal && (no_signal_V_ || no_signal_A_))
    throw UsageError(
        std::string("--coordinates signal needs a signal, but ") +
        (no_signal_V_ ? "every column of P is mu (K_P = 0)" : "Q is uniform (kappa = 0)"));

  natural_ = columns.uniform();
  const bool scalars = coordinates_ != Coordinates::full && variant_.inverse_frequency;
  if (scalars)
    value_ = std::make_unique<ScalarValue>(transition_, start_.V0,
                                           coordinates_ == Coordinates::signal, natural_);
  else
    value_ = std::make_unique<FullValue>(transition_, start_.V0, variant_.inverse_frequency,
                                         natural_, workers);
  full_value_ = dynamic_cast<const FullValue*>(value_.get());
  attention_ = make_attention(columns);
  value_size_ = size_of(value_->blocks());
  attention_size_ = size_of(attention_->blocks());
  const bool full = coordinates_ == Coordinates::full;
  if (full) sampler_ = std::make_unique<Sampler>(problem_, variant_, workers);
  if (training_.two_stage) {
    Variant free = variant_;
    free.project = false;
    free_attention_ = make_attention(Columns(problem_.Q, problem_.mu, free));
    if (full) free_sampler_ = std::make_unique<Sampler>(problem_, free, workers);
  }
  if (training_.l1 > 0 && training_.solver == L1Solver::active_set)
    active_set_.emplace(
        ActiveSet::Weights{attention_size_,
                           attention_size_ / static_cast<std::size_t>(problem_.vocabulary()),
                           natural_, attention_->multiplicities()},
        training_.l1, variant_.project && !training_.two_stage, workers_);
  describe();
}

std::unique_ptr<AttentionPart> Scb::make_attention(const Columns& columns) const {
  switch (coordinates_) {
    case Coordinates::full:
      return std::make_unique<FullAttention>(columns, workers_);
    case Coordinates::support:
      return std::make_unique<SupportAttention>(columns);
    case Coordinates::signal:
      break;
  }
  return std::make_unique<SignalAttention>(columns,
                                           start_.attention.empty() ? 0.0 : start_.attention[0]);
}

const SystemInfo& Scb::info() const { return scb::info(); }

Capabilities Scb::capabilities() const {
  const bool full = coordinates_ == Coordinates::full;
  const bool staged = training_.two_stage.has_value();
  const bool l1 = training_.l1 > 0;
  const auto why_no_jacobian =
      "scb has a Jacobian only in --coordinates support and signal with --preconditioner "
      "inverse-frequency";
  return {
      .gradient_flow = full && !l1 && !staged ? this : nullptr,
      .jacobian = !full && variant_.inverse_frequency ? Capability<popflow::Jacobian>(this)
                                                      : Lacking{why_no_jacobian},
      .events = this,
      .sampled = full ? Capability<Sampled>(this)
                      : Lacking{"single samples leave the reduced coordinates; use --coordinates "
                                "full"},
      // At rest, noise must not move the state, regardless of the samples' invariants.
      .noise_projection = full && (variant_.project || variant_.softmax || staged) ? this : nullptr,
      .switching = staged || active_set_ ? this : nullptr,
      .deviations = full || has_common_values() ? this : nullptr,
      .proximal = l1 && !active_set_ ? this : nullptr,
      .stages = staged ? this : nullptr,
      .final_values = training_.rounding ? this : nullptr,
      .steps_in_place = full && !variant_.softmax ? this : nullptr,
      .euler_step = full && !variant_.softmax && !active_set_ ? this : nullptr,
      .in_lanes = coordinates_ == Coordinates::signal
                      ? Capability<InLanes>(this)
                      : Lacking{"lanes exist only in --coordinates signal"},
      .no_noise = full ? ""
                       : "with noise only --coordinates full is exact, because noise moves each "
                         "entry separately",
      .common_values = has_common_values()};
}

bool Scb::has_common_values() const {
  return coordinates_ == Coordinates::support && !variant_.inverse_frequency &&
         (!variant_.project || variant_.softmax);
}

std::vector<DimensionSpec> Scb::dimensions() const {
  const auto N = static_cast<std::size_t>(problem_.vocabulary());
  std::vector<DimensionSpec> dimensions;
  for (const auto& [name, size] : std::vector<std::pair<std::string, std::size_t>>{
           {"token_out", N},
           {"token_in", N},
           {"token", N},
           {"query", N},
           {"slot", static_cast<std::size_t>(problem_.Q.slots())},
           {"position", static_cast<std::size_t>(problem_.Q.context_length)}}) {
    if (name == "position" && coordinates_ != Coordinates::full) continue;
    DimensionSpec dimension = popflow::dimension(info(), name, size);
    if (size == N && name != "slot" && name != "position" && !problem_.labels.empty())
      dimension.attributes.push_back({"labels", joined_labels(problem_.labels)});
    dimensions.push_back(std::move(dimension));
  }
  return dimensions;
}

void Scb::describe() {
  shape_.blocks = value_->blocks();
  for (const StateBlock& block : attention_->blocks()) shape_.blocks.push_back(block);
  shape_.dimensions = dimensions();
  shape_.fields = value_->fields();
  for (const std::string& field : attention_->fields()) shape_.fields.push_back(field);
  shape_.constants = {{"K_P", transition_.K_P}, {"kappa", kappa_}, {"loss_minimum", loss_minimum_}};

  if (start_.correlation)
    shape_.constants.emplace_back("transfer_correlation", *start_.correlation);
  shape_.stages = training_.two_stage.has_value();
  shape_.finals = training_.rounding.has_value();

  shape_.events = {"boosted", "aligned"};
  if (training_.two_stage)
    shape_.events.insert(shape_.events.end(), {"stage2", "plateau"});
  else if (variant_.project && !variant_.softmax)
    shape_.events.emplace_back("fast_phase_end");
  events_ = event_table().select(shape_.events);

  // In two-stage training, the invariants hold only as long as the projection acts.
  if (training_.two_stage || !(variant_.project || variant_.softmax)) return;
  shape_.invariants.emplace_back("attention_sum_error");
  const Eigen::RowVectorXd sums = start_.V0.colwise().sum();
  if ((sums.array() - 1).abs().maxCoeff() < 1e-9)
    shape_.invariants.emplace_back("column_sum_error");
  if (variant_.inverse_frequency &&
      (start_.V0 * problem_.mu - problem_.mu).cwiseAbs().maxCoeff() < 1e-9)
    shape_.invariants.emplace_back("stationary_error");
}

std::vector<VariableSpec> Scb::constants_of_fields() const {
  if (coordinates_ != Coordinates::support) return {};
  VariableSpec positions = dataset("support_position", {"slot", "query"},
                                   "position of a support slot (-1: slot not used)");
  positions.type = NumberType::int64;
  positions.data = row_major(problem_.Q.position);
  return {positions};
}

GroupSpec Scb::problem() const {
  GroupSpec group;
  group.name = "problem";
  group.attributes = {{"context_length", problem_.Q.context_length}};
  if (start_.correlation) group.attributes.push_back({"transfer_correlation", *start_.correlation});
  VariableSpec P = dataset("P", {"token_out", "token_in"}, "transition matrix, columns sum to 1");
  P.data = row_major(problem_.P);
  VariableSpec mu = dataset("mu", {"token"}, "stationary distribution of P");
  mu.data = std::vector<double>(problem_.mu.begin(), problem_.mu.end());
  VariableSpec weight =
      dataset("Q_value", {"slot", "query"}, "weight of a support position (0: slot not used)");
  weight.data = row_major(problem_.Q.weight);
  VariableSpec position = dataset("Q_position", {"slot", "query"}, "support position, from 0");
  position.type = NumberType::int64;
  position.data = row_major(problem_.Q.position);
  group.variables = {P, mu, weight, position};

  const double dense = static_cast<double>(problem_.Q.context_length) *
                       static_cast<double>(problem_.vocabulary()) * sizeof(double);
  if (coordinates_ == Coordinates::full && dense <= kDenseBytes) {
    Eigen::MatrixXd Q = Eigen::MatrixXd::Zero(problem_.Q.context_length, problem_.vocabulary());
    for (Eigen::Index k = 0; k < Q.cols(); ++k)
      for (Eigen::Index slot = 0; slot < problem_.Q.slots(); ++slot)
        if (problem_.Q.position(slot, k) >= 0)
          Q(problem_.Q.position(slot, k), k) = problem_.Q.weight(slot, k);
    VariableSpec variable = dataset("Q", {"position", "query"}, "weights of the positions");
    variable.data = row_major(Q);
    group.variables.push_back(std::move(variable));
  }
  if (!start_.standard) {
    VariableSpec V0 = dataset("V0", {"token_out", "token_in"}, "start of the value matrix");
    V0.data = row_major(start_.V0);
    group.variables.push_back(std::move(V0));
  }
  return group;
}

double Scb::default_end() const {
  const auto T = static_cast<double>(problem_.Q.context_length);
  if (no_signal_V_ || no_signal_A_) return two_digits(10 + T);
  if (variant_.softmax) {
    // V relaxes within T; then d w/dt = K_P q e^w / T blows up at t = T / (K_P q).
    const double slow = variant_.inverse_frequency ? 1 : static_cast<double>(problem_.vocabulary());
    return two_digits(4 * T * slow * (1 + 1 / (transition_.K_P * (kappa_ + 1 / T))));
  }
  const Growth growth(problem_, variant_);
  if (training_.two_stage) {
    constexpr double kSpans = 10;  // relative to the plateau's default
    return two_digits(training_.two_stage->time.value_or(2 * growth.boost_time()) +
                      kSpans * 5 / growth.rate());
  }
  return two_digits(3 * growth.boost_time() + 10 / growth.rate());
}

double Scb::first_stage_time() const {
  // With softmax attention all stages take times of the same order.
  if (no_signal_V_ || no_signal_A_ || variant_.softmax) return 0;
  return Growth(problem_, variant_).boost_time();
}

void Scb::start(std::span<double> x) const {
  value_->start(x.data());
  if (start_.attention.empty())
    attention_->start(x.data() + value_size_);
  else
    std::copy(start_.attention.begin(), start_.attention.end(), x.begin() + value_size_);
  if (!active_set_ || (training_.two_stage && first_stage() != 2)) return;
  std::vector<double> unused(attention_size_);
  active_set_->find_signs(x.subspan(value_size_, attention_size_), unused);
}

void Scb::rhs(StateView x, double t, std::span<double> dxdt) const {
  if (at_rest(x)) {
    std::fill(dxdt.begin(), dxdt.end(), 0.0);
    return;
  }
  const Coupling coupling = value_->coupling(x.data(), t);
  const Drive drive =
      attention(x).derivative(x.data() + value_size_, coupling, dxdt.data() + value_size_);
  value_->derivative(x.data(), drive, dxdt.data());
  if (penalised(x))
    active_set_->derive(signs(x.regime), dxdt.subspan(value_size_, attention_size_));
}

/// Written by hand: the parts of the flow exchange few numbers, so the Jacobian is made of small
/// blocks. Dual numbers through the whole would add in another order, which changes the last
/// digits.
void Scb::jacobian(StateView x, double t, Eigen::Ref<Eigen::MatrixXd> j,
                   std::span<double> time_derivative) const {
  std::fill(time_derivative.begin(), time_derivative.end(), 0.0);
  j.setZero();
  if (at_rest(x)) return;
  const double* a = x.data() + value_size_;
  const Coupling coupling = value_->coupling(x.data(), t);
  std::vector<double> unused(attention_size_);
  const Drive drive = attention(x).derivative(a, coupling, unused.data());
  const std::optional<ValueLinearization> value = value_->linearize(x.data(), t, drive);
  const std::optional<AttentionLinearization> weights = attention(x).linearize(a, coupling);
  if (!value || !weights) throw std::logic_error("these coordinates have no Jacobian");
  const auto nz = static_cast<Eigen::Index>(value_size_);
  const auto ny = static_cast<Eigen::Index>(attention_size_);
  j.block(0, 0, nz, nz) = value->own;
  j.block(0, nz, nz, ny) = value->by_drive * weights->drive;
  j.block(nz, 0, ny, nz) = weights->by_coupling * value->coupling;
  j.block(nz, nz, ny, ny) = weights->own;
  if (penalised(x)) active_set_->linearise(signs(x.regime), nz, j);
}

std::string Scb::proximal_term() const {
  const std::string value = shortest(training_.l1);
  if (!training_.default_l1) return "the l1 term (--l1 " + value + ")";
  return "the l1 term (l1 = " + value +
         ", the default of --schedule two-stage; --l1 0 turns it off)";
}

void Scb::proximal(std::span<double> x, std::span<const double> regime, double dt) const {
  const StateView here{x, regime};
  if (training_.two_stage && stage(here) != 2) return;
  attention(here).soft_threshold(x.data() + value_size_, training_.l1 * dt);
}

double Scb::excess_loss(const ValueReport& v, const AttentionReport& a) const {
  // L - L* = 1/2 E|V X a_k - P X q_k|^2, with V = P + E and a = q + (a - q):
  return 0.5 * (v.uu + 2 * a.delta * v.uV + a.delta2 * v.VmVm + a.norm2 * v.EE +
                2 * a.a_diff * v.EP + a.diff2 * transition_.K_P);
}

void Scb::observe(StateView x, double t, std::span<double> values) const {
  const ValueReport v = value_->report(x.data(), t);
  const AttentionReport a = attention_->report(x.data() + value_size_);
  const double excess = excess_loss(v, a);
  const double none = std::numeric_limits<double>::quiet_NaN();
  const Evaluation evaluation{.V = v,
                              .A = a,
                              .loss = loss_minimum_ + excess,
                              .excess_loss = excess,
                              .signal_V = no_signal_V_ ? none : v.PV / transition_.K_P,
                              .signal_A = no_signal_A_ ? none : a.signal / kappa_};
  observable_table().evaluate(evaluation, values);
}

void Scb::field(std::string_view name, StateView x, double /*t*/, const FieldSink& sink) const {
  const std::vector<std::string> of_value = value_->fields();
  if (std::find(of_value.begin(), of_value.end(), name) != of_value.end())
    return value_->field(name, x.data(), sink);
  std::span<const double> a = attention_state(x);
  const auto space = drifts_.borrow();
  // Extrapolation conserves a constant only up to its last digit, so weights at rest are reset.
  if (penalised(x)) a = active_set_->at_rest(a, signs(x.regime), *space);
  attention_->field(name, a.data(), sink);
}

void Scb::event_functions(StateView x, double /*t*/, std::span<double> values) const {
  const bool without = no_signal_V_ || no_signal_A_;
  signal_events(value_->signal(x.data()), without ? 0 : attention(x).signal(x.data() + value_size_),
                stage(x), values);
}

void Scb::signal_events(double of_V, double of_A, std::int8_t stage,
                        std::span<double> values) const {
  if (no_signal_V_ || no_signal_A_) {
    std::fill(values.begin(), values.end(), -1.0);
    return;
  }
  const auto T = static_cast<double>(problem_.Q.context_length);
  events_.evaluate({signal_state(of_V, of_A, transition_.K_P, kappa_, T), stage}, values);
}

void Scb::lane_parameters(std::span<double> of) const {
  const auto& value = dynamic_cast<const ScalarValue&>(*value_);
  const auto& attention = dynamic_cast<const SignalAttention&>(*attention_);
  signal_parameters(
      {value.traces(), attention.traces(), static_cast<double>(problem_.Q.context_length)}, of);
}

double Scb::signal_product(double signal_V, StateView x) const {
  return signal_V * attention(x).signal(x.data() + value_size_) / kappa_;
}

// ---- the loss that the flow descends

double Scb::loss(StateView x, double t) const {
  return excess_loss(value_->report(x.data(), t), attention_->report(x.data() + value_size_));
}

void Scb::precondition(StateView /*x*/, std::span<double> v) const {
  const Eigen::Index N = problem_.vocabulary();
  Eigen::Map<Eigen::MatrixXd> V(v.data(), N, N);
  Eigen::Map<Eigen::MatrixXd> A(v.data() + value_size_, problem_.Q.context_length, N);
  // The gradient with respect to softmax's logits has no component along 1 to project out.
  const bool project = variant_.project && !variant_.softmax;
  workers_.run(static_cast<std::size_t>(N), v.size(), [&](std::size_t column) {
    const auto k = static_cast<Eigen::Index>(column);
    if (variant_.inverse_frequency) {
      V.col(k) /= problem_.mu[k];
      A.col(k) /= problem_.mu[k];
    }
    if (project) A.col(k).array() -= A.col(k).mean();
  });
}

void Scb::write_zero(std::span<double> x) const {
  std::fill(x.begin(), x.end(), 0.0);
  const Eigen::MatrixXd V0 = value_->matrix(x.data(), 0);
  for (Eigen::Index i = 0; i < V0.size(); ++i) x[static_cast<std::size_t>(i)] = -V0.data()[i];
  if (variant_.softmax) return;
  const double uniform = 1 / static_cast<double>(problem_.Q.context_length);
  std::fill(x.begin() + static_cast<std::ptrdiff_t>(value_size_), x.end(), -uniform);
}

// ---- noise

void Scb::add_sampled(StateView x, double t, const SampleKey& key, std::span<const double> weights,
                      std::span<double> out) const {
  if (at_rest(x)) return;
  const Sampler& sampler = training_.two_stage && !projected(x) ? *free_sampler_ : *sampler_;
  sampler.add(value_->matrix(x.data(), t), x.data() + value_size_, key, weights, out.data(),
              out.data() + value_size_);
}

double Scb::numbers_of_sample() const {
  // Four columns of N numbers, and two bytes for each token of the sequence.
  return 4 * static_cast<double>(problem_.vocabulary()) +
         static_cast<double>(problem_.Q.context_length) / 4;
}

void Scb::project_noise(StateView x, std::span<double> noise) const {
  if (at_rest(x)) {
    std::fill(noise.begin(), noise.end(), 0.0);
    return;
  }
  // With the projection, every single sample conserves 1'V and 1'a (with softmax 1'w).
  if (stage(x) != 1 || !(variant_.project || variant_.softmax)) return;
  const Eigen::Index N = problem_.vocabulary();
  Eigen::Map<Eigen::MatrixXd> V(noise.data(), N, N);
  Eigen::Map<Eigen::MatrixXd> A(noise.data() + value_size_, problem_.Q.context_length, N);
  workers_.run(static_cast<std::size_t>(N), noise.size(), [&](std::size_t column) {
    const auto k = static_cast<Eigen::Index>(column);
    V.col(k).array() -= V.col(k).mean();
    A.col(k).array() -= A.col(k).mean();
  });
}

void Scb::step_in_place(std::span<double> x, std::span<const double> regime, double t, double h,
                        const Addend& addend) const {
  const StateView here{x, regime};
  if (at_rest(here)) return;
  const Coupling coupling = value_->coupling(x.data(), t);
  const auto& full = static_cast<const FullAttention&>(attention(here));
  const Drive drive = full.step_in_place(
      x.data() + value_size_, coupling, h,
      [&](std::size_t begin, bool keeps_sum, std::span<double> out, const double* next) {
        return addend(value_size_ + begin, keeps_sum, out, next);
      });
  full_value_->step_in_place(x.data(), drive, h, projected(here), addend);
}

double Scb::euler_step(StateView x, double t, double h, std::span<double> out,
                       std::span<double> events) const {
  if (at_rest(x)) {
    std::copy_n(x.data(), out.size(), out.begin());
    if (!events.empty()) event_functions({out, x.regime}, t + h, events);
    return std::numeric_limits<double>::infinity();
  }
  const Coupling coupling = value_->coupling(x.data(), t);
  const auto& full = static_cast<const FullAttention&>(attention(x));
  const FullAttention::Step step =
      full.euler_step(x.data() + value_size_, coupling, h, out.data() + value_size_);
  double bound = step.bound;
  // V is small compared with the attention.
  value_->derivative(x.data(), step.drive, out.data());
  for (std::size_t i = 0; i < value_size_; ++i) {
    out[i] = x[i] + h * out[i];
    const double size = std::abs(out[i]);
    bound = size <= bound ? bound : size;
  }
  if (!events.empty()) signal_events(value_->signal(out.data()), step.signal, stage(x), events);
  return bound;
}

// ---- the end of a run

void Scb::final_values(StateView x, double t, std::span<double> values) const {
  const auto* a = x.data() + value_size_;
  const ValueReport v_before = value_->report(x.data(), t);
  const AttentionReport a_before = attention_->report(a);

  Eigen::MatrixXd V = value_->matrix(x.data(), t);
  const Eigen::Index V_columns_without_sum = normalise_columns(V);
  // A V with normalised columns cannot be expressed in the scalar coordinates.
  const FullValue normalised(transition_, std::move(V), variant_.inverse_frequency, natural_,
                             workers_);
  const std::vector<double> none(static_cast<std::size_t>(problem_.P.size()), 0.0);
  const ValueReport v_after = normalised.report(none.data(), t);
  State rounded(attention_size_);
  std::copy(a, a + attention_size_, rounded.begin());
  const Sparsified kept = attention_->sparsify(rounded.data(), *training_.rounding, false);
  const AttentionReport a_after = attention_->report(rounded.data());

  const EndEvaluation evaluation{
      .before = {v_before, a_before, loss_minimum_ + excess_loss(v_before, a_before)},
      .after = {v_after, a_after, loss_minimum_ + excess_loss(v_after, a_after)},
      .kept = kept,
      .V_columns_without_sum = V_columns_without_sum,
      .below_threshold = training_.two_stage ? x.regime[kColumnsBelow] : 0};
  final_table().evaluate(evaluation, values);
}

Eigen::MatrixXd Scb::trained_value(std::span<const double> x, double t) const {
  Eigen::MatrixXd V = value_->matrix(x.data(), t);
  if (training_.rounding) normalise_columns(V);
  return V;
}

Eigen::MatrixXd Scb::value_matrix(std::span<const double> x, double t) const {
  return value_->matrix(x.data(), t);
}

std::span<const double> Scb::attention_state(std::span<const double> x) const {
  return x.subspan(value_size_, attention_size_);
}

}  // namespace popflow::scb
