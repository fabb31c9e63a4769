#include "training/trained.hpp"

#include <algorithm>
#include <cmath>

#include "popflow/error.hpp"
#include "popflow/math.hpp"
#include "popflow/random.hpp"
#include "start_state.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// Blocks for the optimizer's numbers, one for each of the System's. Absolute tolerances of moments
/// are far below those of the state: m and u may be small where the gradient is, and still decide
/// where x goes.
std::vector<StateBlock> blocks_of(const UpdateRule& rule, const Shape& shape) {
  std::vector<StateBlock> blocks = shape.blocks;
  const auto add = [&](const std::string& prefix, double scale) {
    for (const StateBlock& block : shape.blocks)
      blocks.push_back({prefix + block.name, block.size, scale});
  };
  if (rule.has_m) add("m_", rule.has_u ? 1e-6 : 1);
  if (rule.has_u) add("u_", 1e-12);
  return blocks;
}

/// Factors of all entries, from those of fields.
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
      throw UsageError("--rates names '" + name + "'; the fields trained are " +
                       text::join(names, ", "));
  return factors;
}

/// Whether the right-hand side is another than minus the gradient: preconditioned, or projected.
bool is_preconditioned(const System& system) {
  const Capability<GradientFlow> flow = system.capabilities().gradient_flow;
  if (!flow) return false;
  const StartState start(system);
  // Any vector in general position shows it.
  std::vector<double> before(start.x.size());
  RandomStream random(1, Purpose::check, 0, 0);
  for (double& entry : before) entry = random.normal();
  std::vector<double> after = before;
  flow->precondition(start.view(), after);
  for (std::size_t i = 0; i < after.size(); ++i)
    if (!(std::abs(after[i] - before[i]) <= 1e-12 * std::abs(before[i]))) return true;
  return false;
}

/// Throws UsageError, with the reason, where the rule does not act on these coordinates as it does
/// on the parameters.
void require_allowed(const TrainingPlan& plan, const System& system, const Parameters& own) {
  const std::string rule = "--optimizer " + std::string(plan.rule->name) + ": ";
  const Capabilities can = system.capabilities();
  if (can.proximal)
    throw UsageError(rule + can.proximal->proximal_term() +
                     " goes with plain SGD at a constant rate alone");
  if (plan.rule->memory() > 0 && !can.plain_sgd_alone.empty())
    throw UsageError(rule + can.plain_sgd_alone);
  if (plan.rule->memory() > 0 && can.switching)
    throw UsageError(rule +
                     "a right-hand side that changes on the way (an l1 term, stages, a sharp relu) "
                     "goes with plain SGD alone");
  if (!plan.rule->has_u && plan.rates.empty()) return;
  const SystemInfo& info = system.info();
  const std::string whose = plan.rule->has_u ? rule : "--rates: ";
  if (is_reduced(info, own)) {
    std::string words;
    for (const OptionSetting& setting : info.unreduced)
      words += " --" + setting.option + " " + setting.word;
    throw UsageError(whose +
                     "reduced coordinates mix parameters, each of which would move at a rate of "
                     "its own; give" +
                     words);
  }
  if (is_preconditioned(system))
    throw UsageError(whose + "raw gradients are needed, and those of " + info.name +
                     " are preconditioned or projected here; its own options turn that off");
}

}  // namespace

Trained::Trained(std::unique_ptr<System> system, TrainingPlan plan)
    : system_(std::move(system)),
      plan_(std::move(plan)),
      can_(system_->capabilities()),
      variance_(plan_.variance ? make_gradient_variance(*system_, *plan_.variance) : nullptr),
      shape_(system_->shape()),
      size_(shape_.state_size()),
      rates_(rates_of_entries(plan_.rates, shape_)) {
  shape_.blocks = blocks_of(*plan_.rule, shape_);
  // Conserved by gradient flow, not by other rules: they stay as observables.
  if (plan_.rule->memory() > 0 || !rates_.empty()) shape_.invariants.clear();
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
  can.in_lanes = Lacking{rule + " has none"};
  can.longest_step = can_.longest_step;
  can.no_noise = can_.no_noise;
  can.sampling_bias = can_.sampling_bias;
  return can;
}

template <class Number>
RuleArrays<Number> Trained::arrays(std::span<Number> x) const {
  RuleArrays<Number> parts{x.first(size_), {}, {}, rates_};
  std::span<Number> rest = x.subspan(size_);
  if (plan_.rule->has_m) {
    parts.m = rest.first(size_);
    rest = rest.subspan(size_);
  }
  if (plan_.rule->has_u) parts.u = rest;
  return parts;
}

RuleInstant Trained::instant(double schedule, double t) const {
  RuleInstant now(plan_.numbers, schedule);
  const double eta = plan_.numbers.learning_rate;
  now.kappa1 = -math::log(plan_.numbers.beta1) / eta;
  now.kappa2 = -math::log(plan_.numbers.beta2) / eta;
  if (plan_.rule->corrects_bias) {
    now.corrected1 = -math::expm1(-now.kappa1 * t);
    now.corrected2 = -math::expm1(-now.kappa2 * t);
  }
  return now;
}

void Trained::start(std::span<double> x) const {
  system_->start(x.first(size_));
  std::fill(x.begin() + static_cast<std::ptrdiff_t>(size_), x.end(), 0.0);
}

void Trained::rhs(StateView x, double t, std::span<double> dxdt) const {
  thread_local std::vector<double> f, d;
  f.resize(size_);
  system_->rhs(own(x), t, f);
  d.resize(variance_ ? size_ : 0);
  if (variance_) variance_->write(own(x), t, d);
  plan_.rule->flow(instant(plan_.schedule.at(t), t), f, d, arrays(std::span<const double>(x)),
                   arrays(dxdt));
}

void Trained::step(std::span<double> x, double t, double h, std::int64_t k,
                   std::span<double> g) const {
  RuleInstant now(plan_.numbers, plan_.schedule.at(t));
  now.length = h * now.s;
  if (plan_.rule->corrects_bias) {
    const auto steps = static_cast<double>(k);
    now.corrected1 = -math::expm1(steps * math::log(plan_.numbers.beta1));
    now.corrected2 = -math::expm1(steps * math::log(plan_.numbers.beta2));
  }
  plan_.rule->step(now, g, arrays(x));
}

void Trained::noisy_step(std::span<double> x, std::span<const double> regime, double t, double h,
                         std::span<const double> f, std::span<const double> noise,
                         std::span<const double> squares) const {
  thread_local std::vector<double> d;
  d.resize(variance_ ? size_ : 0);
  if (variance_) variance_->write({x.first(size_), regime}, t, d);
  RuleInstant now = instant(plan_.schedule.at(t), t + h);
  now.length = h * now.s;
  now.relaxed1 = -math::expm1(-now.kappa1 * h);
  now.relaxed2 = -math::expm1(-now.kappa2 * h);
  if (plan_.rule->has_m && plan_.rule->has_u) {
    const RuleNumbers& n = plan_.numbers;
    const double ratio = n.beta1 * n.beta1 / n.beta2, steps = (t + h) / n.learning_rate;
    const double terms = ratio == 1 ? steps : (1 - math::pow(ratio, steps)) / (1 - ratio);
    now.bound = (1 - n.beta1) * (1 - n.beta1) / (1 - n.beta2) * terms;
  }
  plan_.rule->noisy_step(now, {h, f, d, noise, squares}, arrays(x));
}

bool Trained::step_scales(StateView x, double t, std::span<double> scales) const {
  const RuleArrays<const double> parts = arrays(std::span<const double>(x));
  const RuleInstant now = instant(plan_.schedule.at(t), t);
  if (plan_.rule->has_u && !(t > 0)) return false;
  for (std::size_t i = 0; i < size_; ++i) {
    scales[i] = rates_.empty() ? 1 : rates_[i];
    if (!plan_.rule->has_u) continue;
    const double u = std::max(parts.u[i], 0.0) / now.corrected2;
    scales[i] /= std::sqrt(u) + plan_.numbers.epsilon;
  }
  return true;
}

void Trained::observe(StateView x, double t, std::span<double> values) const {
  system_->observe(own(x), t, values);
}
void Trained::field(std::string_view name, StateView x, double t, const FieldSink& sink) const {
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
  return std::ranges::any_of(info.unreduced, [&](const OptionSetting& setting) {
    return own.text(setting.option) != setting.word;
  });
}

std::unique_ptr<System> as_trained(std::unique_ptr<System> system, const Parameters& options,
                                   const Parameters& own) {
  std::optional<TrainingPlan> plan = training_plan(options);
  if (!plan) return system;
  require_allowed(*plan, *system, own);
  return std::make_unique<Trained>(std::move(system), std::move(*plan));
}

void forget_training(std::unique_ptr<System>& system, State& x) {
  auto* const trained = dynamic_cast<Trained*>(system.get());
  if (trained == nullptr) return;
  State own(trained->trained().shape().state_size());
  std::copy_n(x.begin(), own.size(), own.begin());
  x = std::move(own);
  system = trained->release();
}

const System& source_of_gradients(const System& system) {
  const Capability<Training> training = system.capabilities().training;
  return training ? training->trained() : system;
}

}  // namespace popflow
