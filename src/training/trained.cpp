#include "training/trained.hpp"

#include <algorithm>
#include <cmath>

#include "flow/start_state.hpp"
#include "popflow/datasets.hpp"
#include "popflow/error.hpp"
#include "popflow/math.hpp"
#include "popflow/random.hpp"
#include "popflow/retraction.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// Blocks of the System, then those of the optimizer's moments and of the average of the weights,
/// each one for each block of the System. The absolute tolerances of
/// moments are far below those of the state: where the gradient is small, m and u are small too,
/// and still determine how x moves.
std::vector<StateBlock> blocks_of(const TrainingPlan& plan, const Shape& shape) {
  const UpdateRule& rule = *plan.rule;
  std::vector<StateBlock> blocks = shape.blocks;
  const auto add = [&](const std::string& prefix, double scale) {
    for (const StateBlock& block : shape.blocks)
      blocks.push_back({prefix + block.name, block.size, scale});
  };
  if (rule.has_m) add("m_", rule.has_u ? 1e-6 : 1);
  if (rule.has_u) add("u_", 1e-12);
  if (rule.has_norm()) blocks.push_back({kNormBlock, 1, 1e-12});
  for (StateBlock block : plan.averages() ? shape.blocks : std::vector<StateBlock>()) {
    block.name.insert(0, kAverageOf);
    blocks.push_back(std::move(block));
  }
  return blocks;
}

/// Factors on the learning rates of all entries, from the factors of fields.
std::vector<double> rates_of_entries(const std::vector<std::pair<std::string, double>>& rates,
                                     const Shape& shape) {
  if (rates.empty()) return {};
  std::vector<double> factors;
  std::vector<std::string> names;
  for (const StateBlock& block : shape.blocks) {
    names.push_back(block.name);
    const auto given = std::find_if(rates.begin(), rates.end(),
                                    [&](const auto& rate) { return rate.first == block.name; });
    factors.insert(factors.end(), block.size, given == rates.end() ? 1 : given->second);
  }
  for (const auto& [name, factor] : rates)
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw UsageError("--rates has the field '" + name +
                       "'; it must be one of the trained fields " + text::join(names, ", "));
  return factors;
}

/// Whether the right-hand side differs from minus the gradient, because it is preconditioned or
/// projected.
bool is_preconditioned(const System& system) {
  const Capability<GradientFlow> flow = system.capabilities().gradient_flow;
  if (!flow) return false;
  const StartState start(system);
  // Tests the right-hand side along a random direction.
  std::vector<double> before(start.x.size());
  RandomStream random(1, Purpose::check, 0, 0);
  for (double& entry : before) entry = random.normal();
  std::vector<double> after = before;
  flow->precondition(start.view(), after);
  for (std::size_t i = 0; i < after.size(); ++i)
    if (!(std::abs(after[i] - before[i]) <= 1e-12 * std::abs(before[i]))) return true;
  return false;
}

bool has_settings(const Parameters& own, const std::vector<OptionSetting>& settings) {
  return std::ranges::all_of(settings, [&](const OptionSetting& setting) {
    return own.text(setting.option) == setting.word;
  });
}

/// Throws UsageError, with the reason, if the rule acts on these coordinates in another way than on
/// the parameters.
void require_allowed(const TrainingPlan& plan, const System& system, const Parameters& own) {
  const std::string rule = "--optimizer " + std::string(plan.rule->name) + ": ";
  const Capabilities can = system.capabilities();
  if (can.proximal && !(plan.takes_steps && plan.rates.empty()))
    throw UsageError(
        rule + can.proximal->proximal_term() +
        " needs plain SGD at a constant learning rate, except in sampled training without --rates; "
        "use --mode sgd, or leave out the other training options");
  const bool plain = plan.descends_plainly();
  const std::string decay = "--weight-decay: ";
  if (plan.averages() && !can.no_other_rule.empty())
    throw UsageError("--average: the state does not hold the weights; " + can.no_other_rule);
  if (plan.averages() && can.switching)
    throw UsageError(
        "--average: a right-hand side with regimes (an l1 term, stages, a sharp relu) has no "
        "observables at the average of the weights; leave out --average");
  if (!(plain && !plan.decays()) && !can.no_other_rule.empty())
    throw UsageError((plain ? decay : rule) + can.no_other_rule);
  if (!(plain && !plan.decays()) && can.switching)
    throw UsageError(
        (plain ? decay : rule) +
        "a right-hand side with regimes (an l1 term, stages, a sharp relu) needs plain SGD "
        "without weight decay");
  if (const Retraction* const on = retraction_of(system);
      on != nullptr && (plan.decays() || !(plain || plan.takes_steps)))
    throw UsageError((plan.decays() ? decay : rule) +
                     (plan.decays() ? "has no effect on " + on->manifold() + "; leave it out"
                                    : "the flow of the rule leaves " + on->manifold() +
                                          "; use --mode sgd, or --optimizer sgd"));
  const bool shaped = plan.rule->is_adaptive() || plan.is_whole();
  if (!shaped && plan.rates.empty() && !plan.decays()) return;
  const SystemInfo& info = system.info();
  const std::string whose = plan.clip_norm > 0 ? "--clip-norm: "
                            : shaped           ? rule
                            : plan.decays()    ? decay
                                               : "--rates: ";
  if (is_reduced(info, own) && plan.is_whole())
    throw UsageError(whose +
                     "reduced coordinates do not hold the norm or the matrices of the whole "
                     "gradient; give" +
                     words_of(info.unreduced));
  if (is_reduced(info, own) && can.common_values && plan.variance)
    throw UsageError(
        "--batch-noise-in-variance: reduced coordinates do not hold the variances of "
        "each parameter's gradient; give" +
        words_of(info.unreduced));
  if (is_reduced(info, own) && !can.common_values)
    throw UsageError(whose + "reduced coordinates mix parameters whose rates differ; give" +
                     words_of(info.unreduced));
  if (plan.decays() && !can.gradient_flow && !can.common_values)
    throw UsageError(
        decay + "the parameters of " + info.name +
        " are not known, because its flow is not the gradient of a loss" +
        (can.gradient_flow.why_not().empty() ? "" : " (" + can.gradient_flow.why_not() + ")"));
  // With a proximal term there is no gradient flow to test.
  const bool raw =
      can.proximal ? has_settings(own, info.raw_gradients) : !is_preconditioned(system);
  if (!raw)
    throw UsageError(whose + "the rule needs raw gradients, but those of " + info.name +
                     " are preconditioned or projected" +
                     (info.raw_gradients.empty() ? "" : "; give" + words_of(info.raw_gradients)));
}

/// Continues with the moments in the file of --init-from. Throws InputError if the moments belong
/// to another kind of rule or to other coordinates.
void continue_moments(TrainingPlan& plan, const System& system, const LastState* start) {
  if (start == nullptr)
    throw UsageError(
        "--init-optimizer file reads the moments from a file; give it with --init-from");
  const UpdateRule& rule = *plan.rule;
  const UpdateRule& before =
      start->optimizer.rule == nullptr ? update_rules().front() : *start->optimizer.rule;
  if (!rule.has_moments_of(before))
    throw InputError(
        "--init-optimizer file: " + start->path + " was trained by " + std::string(before.name) +
        (before.has_memory() ? ", whose moments are not those of " + std::string(rule.name)
                             : ", which has no moments"));
  (void)whole_start({.start = start}, system.shape().blocks);
  plan.moments = start->optimizer.moments;
  for (double& moment : plan.moments) moment /= plan.step_factor;
}

}  // namespace

Trained::Trained(std::unique_ptr<System> system, TrainingPlan plan)
    : system_(std::move(system)),
      plan_(std::move(plan)),
      can_(system_->capabilities()),
      variance_(plan_.variance ? make_gradient_variance(*system_, *plan_.variance) : nullptr),
      shape_(system_->shape()),
      size_(shape_.state_size()),
      average_at_(size_ + plan_.rule->moments(size_)),
      rates_(rates_of_entries(plan_.rates, shape_)) {
  shape_.blocks = blocks_of(plan_, shape_);
  // Other rules than gradient flow do not conserve the invariants: keep them as plain observables.
  if (!plan_.descends_plainly() || plan_.decays() || !rates_.empty()) shape_.invariants.clear();
  if (plan_.decays() && can_.deviations) {
    zero_.resize(size_);
    can_.deviations->write_zero(zero_);
  }
  if (plan_.is_whole()) whole_.emplace(plan_, *system_);
  if (plan_.averages()) record_averages();
  if (plan_.records_moments) record_moments();
  if (!why_no_lanes().empty()) return;
  lane_formulas_ = can_.in_lanes->lane_formulas();
  lane_formulas_.training = std::make_shared<TrainingLanes>(plan_, size_, rates_);
}

void Trained::record_averages() {
  info_ = with_averages(system_->info());
  for (const std::string& name : std::vector<std::string>(shape_.fields))
    shape_.fields.push_back(kAverageOf + name);
}

void Trained::record_moments() {
  if (!info_) info_ = system_->info();
  moment_fields_ = fields_of_moments(*system_, shape_.blocks);
  for (const MomentField& moment : moment_fields_) {
    const std::string& name = moment.info.name;
    if (std::ranges::find(info_->fields, name, &FieldInfo::name) != info_->fields.end())
      throw UsageError("--state-of-optimizer: " + info_->name + " has a field " + name +
                       " of its own");
    info_->fields.push_back(moment.info);
    shape_.fields.push_back(name);
    if (!moment.own_axis) continue;
    const std::string& axis = moment.info.dimensions.front();
    if (std::ranges::find(info_->dimensions, axis, &DimensionInfo::name) != info_->dimensions.end())
      continue;
    info_->dimensions.push_back({axis, "entry of the state's block " + moment.block});
    shape_.dimensions.push_back(dimension(*info_, axis, moment.size));
  }
}

Capabilities Trained::capabilities() const {
  Capabilities can;
  const std::string rule = "--optimizer " + std::string(plan_.rule->name);
  can.training = this;
  if (can_.events) can.events = this;
  if (can_.switching) can.switching = this;
  if (can_.stages) can.stages = this;
  if (can_.outcomes) can.outcomes = this;
  if (can_.final_values) can.final_values = this;
  can.jacobian = Lacking{rule + " has no Jacobian; explicit methods work"};
  if (lane_formulas_.training)
    can.in_lanes = this;
  else
    can.in_lanes = Lacking{rule + ": " + why_no_lanes()};
  can.longest_step = can_.longest_step;
  can.no_noise = can_.no_noise;
  can.sampling_bias = can_.sampling_bias;
  return can;
}

void Trained::start(std::span<double> x) const {
  system_->start(x.first(size_));
  const std::span<double> moments = x.subspan(size_, average_at_ - size_);
  std::fill(moments.begin(), moments.end(), 0.0);
  std::copy(plan_.moments.begin(), plan_.moments.end(), moments.begin());
  if (plan_.averages()) std::copy_n(x.begin(), size_, x.subspan(average_at_).begin());
}

void Trained::rhs(StateView x, double t, std::span<double> dxdt) const {
  thread_local std::vector<double> f, d;
  f.resize(size_);
  system_->rhs(own(x), t, f);
  d.resize(variance_ ? size_ : 0);
  if (variance_) variance_->write(own(x), t, d);
  const RuleInstant<double> now = clock().at(t, plan_.schedule.at(t));
  const double* const variances = variance_ ? d.data() : nullptr;
  const RuleArrays<const double> at = plan_.rule->parts(x.data(), size_);
  const RuleArrays<double> derivative = plan_.rule->parts(dxdt.data(), size_);
  if (whole_)
    whole_->flow(now, entries(), f, variances, at, derivative);
  else
    plan_.rule->flow(now, entries(), f.data(), variances, at, derivative);
  if (!plan_.averages()) return;
  const double rate = average().rate();
  for (std::size_t i = 0; i < size_; ++i)
    dxdt[average_at_ + i] = rate * (x[i] - x[average_at_ + i]);
}

void Trained::follow(std::span<double> x, double h) const {
  if (!plan_.averages()) return;
  std::span<const double> weights = x.first(size_);
  thread_local std::vector<double> retracted;
  if (const Retraction* const on = retraction_of(*system_); on != nullptr) {
    // The driver scales x itself back after this function.
    retracted.assign(weights.begin(), weights.end());
    on->retract(retracted);
    weights = retracted;
  }
  const std::span<double> averages = x.subspan(average_at_, size_);
  const double moved = average().moved(h);
  for (std::size_t i = 0; i < size_; ++i) averages[i] += moved * (weights[i] - averages[i]);
}

void Trained::step(std::span<double> x, double t, double h, std::int64_t k,
                   std::span<double> g) const {
  const double s = plan_.schedule.at_step(t);
  const RuleInstant<double> now = clock().of_step(static_cast<double>(k), h * plan_.step_factor, s);
  const RuleArrays<double> to = plan_.rule->parts(x.data(), size_);
  if (whole_)
    whole_->step(now, entries(), g, to);
  else
    plan_.rule->step(now, entries(), g.data(), to);
  if (can_.proximal) can_.proximal->proximal(x.first(size_), {}, h * s);
  follow(x, h);
}

void Trained::noisy_step(std::span<double> x, std::span<const double> regime, double t, double h,
                         std::span<const double> f, std::span<const double> noise,
                         std::span<const double> squares) const {
  thread_local std::vector<double> d;
  d.resize(variance_ ? size_ : 0);
  if (variance_) variance_->write({x.first(size_), regime}, t, d);
  const RuleInstant<double> now = clock().of_noisy_step(t + h, h, plan_.schedule.at_step(t));
  const NoisyGradients<double> gradients{h, f.data(), variance_ ? d.data() : nullptr, noise.data(),
                                         squares.empty() ? nullptr : squares.data()};
  const RuleArrays<double> to = plan_.rule->parts(x.data(), size_);
  if (whole_)
    whole_->noisy_step(now, entries(), gradients, to);
  else
    plan_.rule->noisy_step(now, entries(), gradients, to);
  follow(x, h);
}

std::string Trained::why_no_lanes() const {
  if (!can_.in_lanes)
    return can_.in_lanes.why_not().empty() ? "the system has no SIMD lanes"
                                           : can_.in_lanes.why_not();
  const LaneFormulas& formulas = can_.in_lanes->lane_formulas();
  if (whole_) return "the rule takes the whole gradient, not each entry alone";
  if (!zero_.empty()) return "weight decay has no SIMD lanes if the state holds deviations";
  if (plan_.variance && (formulas.flow_and_covariance == nullptr || plan_.variance->isotropic >= 0))
    return "SIMD lanes need the exact covariance of a sample";
  if (formulas.sizes.entries + shape_.state_size() - size_ > kLargestInLanes)
    return "SIMD lanes hold states of up to " + std::to_string(kLargestInLanes) + " numbers";
  return "";
}

void Trained::lane_parameters(std::span<double> of) const {
  const std::size_t own = lane_formulas_.sizes.parameters;
  can_.in_lanes->lane_parameters(of.first(own));
  TrainingLanes::write_numbers(plan_, of.subspan(own));
}

bool Trained::step_scales(StateView x, double t, std::span<double> scales) const {
  const RuleArrays<const double> parts = plan_.rule->parts(x.data(), size_);
  const RuleInstant<double> now = clock().at(t, plan_.schedule.at(t));
  const bool divides = plan_.rule->divides();
  if (divides && !(t > 0 || plan_.numbers.steps_before > 0)) return false;
  for (std::size_t i = 0; i < size_; ++i) {
    scales[i] = rates_.empty() ? 1 : rates_[i];
    if (!divides) continue;
    const double u = std::max(plan_.rule->has_norm() ? *parts.m : parts.u[i], 0.0) / now.corrected2;
    scales[i] /= std::sqrt(u) + plan_.numbers.epsilon;
  }
  return true;
}

void Trained::observe(StateView x, double t, std::span<double> values) const {
  if (!plan_.averages()) return system_->observe(own(x), t, values);
  const std::size_t each = values.size() / 2;
  system_->observe(own(x), t, values.first(each));
  system_->observe(averaged(x), t, values.last(each));
}
void Trained::field(std::string_view name, StateView x, double t, const FieldSink& sink) const {
  for (const MomentField& moment : moment_fields_)
    if (moment.info.name == name) return moment.write(x, sink);
  if (plan_.averages() && name.starts_with(kAverageOf) &&
      std::ranges::find(system_->shape().fields, name) == system_->shape().fields.end())
    return system_->field(name.substr(std::string_view(kAverageOf).size()), averaged(x), t, sink);
  system_->field(name, own(x), t, sink);
}
void Trained::event_functions(StateView x, double t, std::span<double> values) const {
  can_.events->event_functions(own(x), t, values);
}
double Trained::event_height(std::size_t event, StateView x, double t) const {
  return can_.events->event_height(event, own(x), t);
}
double Trained::rough_event_height(std::size_t event, StateView x, double t, double low,
                                   double high) const {
  return can_.events->rough_event_height(event, own(x), t, low, high);
}
void Trained::passage_functions(StateView x, double t, std::span<double> values) const {
  can_.events->passage_functions(own(x), t, values);
}
Regime Trained::first_regime() const { return can_.switching->first_regime(); }
std::size_t Trained::switches() const { return can_.switching->switches(); }
void Trained::switch_functions(StateView x, double t, std::span<double> values) const {
  can_.switching->switch_functions(own(x), t, values);
}
void Trained::switch_regime(std::span<double> x, std::span<double> regime, double t) const {
  can_.switching->switch_regime(x.first(size_), regime, t);
}
bool Trained::at_rest(StateView x) const { return can_.switching->at_rest(own(x)); }
std::int8_t Trained::stage(StateView x) const { return can_.stages->stage(own(x)); }
std::string Trained::outcome(StateView x, double t) const {
  return can_.outcomes->outcome(own(x), t);
}
void Trained::final_values(StateView x, double t, std::span<double> values) const {
  can_.final_values->final_values(own(x), t, values);
}

bool is_reduced(const SystemInfo& info, const Parameters& own) {
  return !has_settings(own, info.unreduced);
}

std::string words_of(const std::vector<OptionSetting>& settings) {
  std::string words;
  for (const OptionSetting& setting : settings)
    words += " --" + setting.option + " " + setting.word;
  return words;
}

std::unique_ptr<System> as_trained(std::unique_ptr<System> system,
                                   const std::optional<TrainingPlan>& plan, const Parameters& own,
                                   const LastState* start) {
  if (!plan) return system;
  require_allowed(*plan, *system, own);
  TrainingPlan begun = *plan;
  if (begun.moments_of_file) continue_moments(begun, *system, start);
  if (begun.steps_of_file) begun.numbers.steps_before = start->optimizer.steps;
  return std::make_unique<Trained>(std::move(system), std::move(begun));
}

OptimizerState remove_training(std::unique_ptr<System>& system, State& x, double t) {
  auto* const trained = dynamic_cast<Trained*>(system.get());
  if (trained == nullptr) return {};
  const TrainingPlan& plan = trained->plan();
  State own(trained->trained().shape().state_size());
  const auto end = std::copy_n(x.begin(), own.size(), own.begin());
  const std::size_t moments = plan.rule->moments(own.size());  // the average comes after them
  const State::const_iterator first = x.begin() + (end - own.begin());
  OptimizerState optimizer{plan.rule,
                           {first, first + static_cast<std::ptrdiff_t>(moments)},
                           plan.numbers.steps_before + t / plan.numbers.learning_rate};
  // SVAG's smaller steps sum up more gradients.
  for (double& moment : optimizer.moments) moment *= plan.step_factor;
  x = std::move(own);
  system = trained->release();
  return optimizer;
}

const System& source_of_gradients(const System& system) {
  const Capability<Training> training = system.capabilities().training;
  return training ? training->trained() : system;
}

}  // namespace popflow
