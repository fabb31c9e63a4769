#include "dynamics/scb/system.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <sstream>

#include "dynamics/common/datasets.hpp"
#include "dynamics/scb.hpp"
#include "popflow/error.hpp"
#include "popflow/state.hpp"

namespace popflow::scb {

namespace {

/// Four digits.
std::string brief(double value) {
  std::ostringstream text;
  text.precision(4);
  text << value;
  return text.str();
}

/// Time left until `end`; at `end` itself, up to its rounding, none.
double left(double end, double t) {
  return end - t - (1e-12 * end + std::numeric_limits<double>::min());
}

// The dense Q is written beside the sparse one up to this size.
constexpr double kDenseBytes = 64.0 * 1024 * 1024;

std::size_t size_of(const std::vector<StateBlock>& blocks) {
  return std::accumulate(blocks.begin(), blocks.end(), std::size_t{0},
                         [](std::size_t sum, const StateBlock& b) { return sum + b.size; });
}

/// Divides each column by its sum; one without a positive sum stays. How many those are.
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
  no_signal_V_ = transition_.K_P <= kNothing * transition_.norm2;
  no_signal_A_ = kappa_ <= kNothing * kappa_0;
  if (coordinates_ == Coordinates::signal && (no_signal_V_ || no_signal_A_))
    throw UsageError(
        std::string("--coordinates signal: there is no signal to follow, because ") +
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
  if (training_.two_stage) shape_.blocks.push_back({"stage", kStageEntries, 1});
  shape_.dimensions = dimensions();
  shape_.fields = value_->fields();
  for (const std::string& field : attention_->fields()) shape_.fields.push_back(field);
  shape_.constants = {{"K_P", transition_.K_P}, {"kappa", kappa_}, {"loss_minimum", loss_minimum_}};

  if (start_.correlation)
    shape_.constants.emplace_back("transfer_correlation", *start_.correlation);
  shape_.stages = training_.two_stage.has_value();
  shape_.finals = training_.rounding.has_value();

  shape_.events = {"boosted", "aligned"};
  if (training_.two_stage) {
    // With the projection its invariants and its creep end.
    shape_.events.insert(shape_.events.end(), {"stage2", "plateau"});
    return;
  }
  if (variant_.project && !variant_.softmax) shape_.events.emplace_back("fast_phase_end");
  if (!(variant_.project || variant_.softmax)) return;
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

double Scb::boost_time() const {
  const double rate = growth_rate(problem_, variant_);
  const auto T = static_cast<double>(problem_.Q.context_length);
  return std::log1p(2 * T * T * rate * kappa_) / (2 * rate);
}

double Scb::default_end() const {
  const auto T = static_cast<double>(problem_.Q.context_length);
  if (no_signal_V_ || no_signal_A_) return two_digits(10 + T);
  if (variant_.softmax) {
    // V relaxes within T; then d w/dt = K_P q e^w / T runs away at t = T / (K_P q).
    const double slow = variant_.inverse_frequency ? 1 : static_cast<double>(problem_.vocabulary());
    return two_digits(4 * T * slow * (1 + 1 / (transition_.K_P * (kappa_ + 1 / T))));
  }
  if (training_.two_stage) {
    constexpr double kSpans = 10;  // of the plateau's default
    return two_digits(training_.two_stage->time.value_or(2 * boost_time()) +
                      kSpans * 5 / growth_rate(problem_, variant_));
  }
  return two_digits(3 * boost_time() + 10 / growth_rate(problem_, variant_));
}

std::vector<std::string> Scb::remarks() const {
  std::vector<std::string> remarks;
  std::ostringstream text;
  if (no_signal_V_) remarks.emplace_back("K_P = 0: every column of P is mu, there is no signal");
  if (no_signal_A_) remarks.emplace_back("kappa = 0: Q is uniform, there is no signal");
  if (!no_signal_V_ && !no_signal_A_ && !variant_.softmax) {
    const double T = static_cast<double>(problem_.Q.context_length);
    text.precision(3);
    text << "signals grow at rate " << growth_rate(problem_, variant_)
         << "; from a uniform start they are boosted at about t = " << boost_time();
    if (!training_.two_stage && variant_.project && variant_.inverse_frequency)
      text << ", and creep to their end at rate "
           << transition_.K_P / (T * (transition_.K_P + kappa_));
    remarks.push_back(text.str());
  }
  if (start_.correlation) {
    std::ostringstream transfer;
    transfer.precision(4);
    transfer << "transfer: the pretrained V has tr(V'P Sigma)/K_P = " << *start_.correlation
             << "; signal_V starts at " << correlation(start_.V0, problem_);
    remarks.push_back(transfer.str());
  }
  if (training_.two_stage) {
    remarks.push_back(settings(training_));
    std::ostringstream sums;
    sums.precision(3);
    sums << "in stage 2, without the projection, the attention's sums relax at rate T |mu|^2 = "
         << relaxation_rate() << ": explicit steps, learning rates too, must be below 2 over that";
    remarks.push_back(sums.str());
  }
  const bool uniform_start = start_.attention.empty();
  const std::size_t large = std::size_t{1} << 20;
  if (coordinates_ == Coordinates::full && uniform_start && shape_.state_size() > large)
    remarks.emplace_back("--coordinates support is exact here too, and needs " +
                         std::to_string(problem_.vocabulary() * (problem_.Q.slots() + 1) + 4) +
                         " numbers instead of " + std::to_string(shape_.state_size()));
  return remarks;
}

double Scb::relaxation_rate() const {
  const double weight = variant_.inverse_frequency ? 1.0 : problem_.mu.maxCoeff();
  return weight * problem_.mu.squaredNorm() / natural_;
}

std::vector<std::string> Scb::warnings() const {
  std::vector<std::string> warnings;
  if (start_.correlation && *start_.correlation < 0)
    warnings.emplace_back("the pretrained V has a negative correlation with this problem's P (" +
                          brief(*start_.correlation) +
                          "): both signals will grow negative, towards V = -P and A = -Q");
  if (!training_.two_stage) return warnings;
  const double most = 2 / relaxation_rate();
  if (training_.two_stage->step && *training_.two_stage->step > most)
    warnings.emplace_back("stage 2 is likely to diverge: its steps of " +
                          brief(*training_.two_stage->step) +
                          " are above 2/(T |mu|^2) = " + brief(most));
  return warnings;
}

void Scb::start(std::span<double> x) const {
  value_->start(x.data());
  if (start_.attention.empty())
    attention_->start(x.data() + value_size_);
  else
    std::copy(start_.attention.begin(), start_.attention.end(), x.begin() + value_size_);
  if (!training_.two_stage) return;
  std::fill(x.end() - kStageEntries, x.end(), 0.0);
  x[x.size() - kStageEntries + kStage] = 1;
}

void Scb::rhs(std::span<const double> x, double t, std::span<double> dxdt) const {
  if (at_rest(x)) {
    std::fill(dxdt.begin(), dxdt.end(), 0.0);
    return;
  }
  const Coupling coupling = value_->coupling(x.data(), t);
  const Drive drive =
      attention(x).derivative(x.data() + value_size_, coupling, dxdt.data() + value_size_);
  value_->derivative(x.data(), drive, dxdt.data());
  std::fill(dxdt.begin() + static_cast<std::ptrdiff_t>(value_size_ + attention_size_), dxdt.end(),
            0.0);
}

bool Scb::has_jacobian() const {
  return coordinates_ != Coordinates::full && variant_.inverse_frequency;
}

std::string Scb::why_no_jacobian() const {
  return "scb has one in --coordinates support and signal with --preconditioner "
         "inverse-frequency only";
}

void Scb::jacobian(std::span<const double> x, double t, Eigen::Ref<Eigen::MatrixXd> j,
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
  if (!value || !weights) System::jacobian(x, t, j, time_derivative);
  const auto nz = static_cast<Eigen::Index>(value_size_);
  const auto ny = static_cast<Eigen::Index>(attention_size_);
  j.block(0, 0, nz, nz) = value->own;
  j.block(0, nz, nz, ny) = value->by_drive * weights->drive;
  j.block(nz, 0, ny, nz) = weights->by_coupling * value->coupling;
  j.block(nz, nz, ny, ny) = weights->own;
}

void Scb::proximal(std::span<double> x, double dt) const {
  if (training_.two_stage && stage(x) != 2) return;
  attention(x).soft_threshold(x.data() + value_size_, training_.l1 * dt);
}

double Scb::excess_loss(const ValueReport& v, const AttentionReport& a) const {
  // L - L* = 1/2 E|V X a_k - P X q_k|^2, with V = P + E and a = q + (a - q):
  return 0.5 * (v.uu + 2 * a.delta * v.uV + a.delta2 * v.VmVm + a.norm2 * v.EE +
                2 * a.a_diff * v.EP + a.diff2 * transition_.K_P);
}

void Scb::observe(std::span<const double> x, double t, std::span<double> values) const {
  const ValueReport v = value_->report(x.data(), t);
  const AttentionReport a = attention_->report(x.data() + value_size_);
  const double excess = excess_loss(v, a);
  const double none = std::numeric_limits<double>::quiet_NaN();
  const double numbers[] = {loss_minimum_ + excess,
                            excess,
                            no_signal_V_ ? none : v.PV / transition_.K_P,
                            no_signal_A_ ? none : a.signal / kappa_,
                            v.distance,
                            a.distance,
                            a.sum_error,
                            v.stationary_error,
                            v.column_sum_error};
  std::copy(std::begin(numbers), std::end(numbers), values.begin());
}

void Scb::field(std::size_t i, std::span<const double> x, double /*t*/,
                const FieldSink& sink) const {
  const std::size_t of_value = value_->fields().size();
  if (i < of_value)
    value_->field(i, x.data(), sink);
  else
    attention_->field(i - of_value, x.data() + value_size_, sink);
}

void Scb::event_functions(std::span<const double> x, double /*t*/, std::span<double> values) const {
  if (no_signal_V_ || no_signal_A_) {
    std::fill(values.begin(), values.end(), -1.0);
    return;
  }
  const double product = signal_product(x);
  values[0] = product - 0.5;
  values[1] = product - 0.9;
  if (training_.two_stage) {
    values[2] = stage(x) - 1.5;
    values[3] = stage(x) - 2.5;
  } else if (values.size() > 2) {
    const auto T = static_cast<double>(problem_.Q.context_length);
    const double signal_V = value_->signal(x.data()) / transition_.K_P;
    values[2] = (1 - signal_V) * (1 - signal_V) / T - kappa_ * (1 - product) * (1 - product);
  }
}

double Scb::signal_product(std::span<const double> x) const {
  return value_->signal(x.data()) / transition_.K_P * attention(x).signal(x.data() + value_size_) /
         kappa_;
}

// ---- noise

std::string Scb::why_no_samples() const {
  return "single samples leave the reduced coordinates; use --coordinates full";
}

std::string Scb::why_no_noise() const {
  if (coordinates_ == Coordinates::full) return "";
  return "with noise only --coordinates full is exact: noise moves every entry on its own way";
}

void Scb::add_sampled(std::span<const double> x, double t, const SampleKey& key,
                      std::span<const double> weights, std::span<double> out) const {
  if (at_rest(x)) return;
  const Sampler& sampler = training_.two_stage && !projected(x) ? *free_sampler_ : *sampler_;
  sampler.add(value_->matrix(x.data(), t), x.data() + value_size_, key, weights, out.data(),
              out.data() + value_size_);
}

void Scb::project_noise(std::span<double> noise) const {
  // What every single sample keeps with the projection: 1'V and 1'a (with softmax 1'w).
  if (!(variant_.project || variant_.softmax)) return;
  const Eigen::Index N = problem_.vocabulary();
  Eigen::Map<Eigen::MatrixXd> V(noise.data(), N, N);
  Eigen::Map<Eigen::MatrixXd> A(noise.data() + value_size_, problem_.Q.context_length, N);
  workers_.run(static_cast<std::size_t>(N), noise.size(), [&](std::size_t column) {
    const auto k = static_cast<Eigen::Index>(column);
    V.col(k).array() -= V.col(k).mean();
    A.col(k).array() -= A.col(k).mean();
  });
}

void Scb::project_noise_at(std::span<const double> x, std::span<double> noise) const {
  if (at_rest(x)) {
    std::fill(noise.begin(), noise.end(), 0.0);
    return;
  }
  std::fill(noise.begin() + static_cast<std::ptrdiff_t>(value_size_ + attention_size_), noise.end(),
            0.0);
  if (stage(x) == 1) project_noise(noise);
}

void Scb::step_in_place(std::span<double> x, double t, double h, const Addend& addend) const {
  if (at_rest(x)) return;
  const Coupling coupling = value_->coupling(x.data(), t);
  const auto& full = static_cast<const FullAttention&>(attention(x));
  const Drive drive =
      full.step_in_place(x.data() + value_size_, coupling, h,
                         [&](std::size_t begin, bool keeps_sum, std::span<double> out) {
                           return addend(value_size_ + begin, keeps_sum, out);
                         });
  full_value_->step_in_place(x.data(), drive, h, projected(x), addend);
}

// ---- stages

double Scb::entry(std::span<const double> x, StageEntry which) const {
  return x[x.size() - kStageEntries + which];
}

std::int8_t Scb::stage(std::span<const double> x) const {
  return training_.two_stage ? static_cast<std::int8_t>(std::lround(entry(x, kStage)))
                             : std::int8_t{1};
}

bool Scb::at_rest(std::span<const double> x) const { return stage(x) == 3; }

bool Scb::projected(std::span<const double> x) const { return variant_.project && stage(x) == 1; }

const AttentionPart& Scb::attention(std::span<const double> x) const {
  return stage(x) == 1 ? *attention_ : *free_attention_;
}

double Scb::signal_left(std::span<const double> x) const {
  // With both signals negative V goes to -P and A to -Q: the weights that stand for Q are the
  // smallest, and no threshold finds them.
  const double product = signal_product(x);
  const bool right = value_->signal(x.data()) > 0;
  return *training_.two_stage->signal - (right ? product : -std::abs(product));
}

void Scb::switch_functions(std::span<const double> x, double t, std::span<double> values) const {
  const TwoStage& two = *training_.two_stage;
  values[0] = 1;
  if (stage(x) == 1) {
    values[0] = two.time ? left(*two.time, t) : signal_left(x);
  } else if (stage(x) == 2 && two.plateau_time > 0) {
    values[0] = left(entry(x, kSince) + two.plateau_time, t);
  }
}

void Scb::switch_mode(std::span<double> x, double t) const {
  const TwoStage& two = *training_.two_stage;
  double* a = x.data() + value_size_;
  const std::span<double> entries = x.last(kStageEntries);
  const bool begins = stage(x) == 1;
  if (begins) {
    const Kept kept = attention_->sparsify(a, two.threshold, true);
    entries[kWithout] = static_cast<double>(kept.columns_without);
  }
  const double loss = excess_loss(value_->report(x.data(), t), attention_->report(a));
  // A loss that is no number is no plateau: the driver finds out.
  const bool ends = !begins && std::isfinite(loss) && entries[kLoss] - loss <= two.plateau_fall;
  entries[kStage] = ends ? 3 : 2;
  entries[kSince] = t;
  entries[kLoss] = loss;
}

// ---- the end of a run

void Scb::final_values(std::span<const double> x, double t, std::span<double> values) const {
  const auto* a = x.data() + value_size_;
  const ValueReport v_before = value_->report(x.data(), t);
  const AttentionReport a_before = attention_->report(a);

  Eigen::MatrixXd V = value_->matrix(x.data(), t);
  const Eigen::Index V_without = normalise_columns(V);
  // Normalised columns leave the scalars' coordinates.
  const FullValue normalised(transition_, std::move(V), variant_.inverse_frequency, natural_,
                             workers_);
  const std::vector<double> none(static_cast<std::size_t>(problem_.P.size()), 0.0);
  const ValueReport v_after = normalised.report(none.data(), t);
  State rounded(attention_size_);
  std::copy(a, a + attention_size_, rounded.begin());
  const Kept kept = attention_->sparsify(rounded.data(), *training_.rounding, false);
  const AttentionReport a_after = attention_->report(rounded.data());

  const double without = training_.two_stage ? entry(x, kWithout) : 0;
  const double numbers[] = {loss_minimum_ + excess_loss(v_before, a_before),
                            loss_minimum_ + excess_loss(v_after, a_after),
                            v_before.distance,
                            v_after.distance,
                            a_before.distance,
                            a_after.distance,
                            kept.weights,
                            static_cast<double>(kept.columns_without),
                            static_cast<double>(V_without),
                            without};
  std::copy(std::begin(numbers), std::end(numbers), values.begin());
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
