#include "plan/training.hpp"

#include "noise/noise_models.hpp"
#include "plan/course.hpp"
#include "popflow/error.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

RateSchedule schedule_of(const Parameters& o, const ModePlan& mode) {
  RateSchedule::Options schedule = RateSchedule::parse(o.word("learning-rate-schedule"));
  if (o.has("warmup") && o.has("warmup-steps"))
    throw UsageError("--warmup and --warmup-steps exclude each other; give only one of them");
  if (o.has("warmup")) schedule.warmup = o.real("warmup");
  if (o.has("warmup-steps"))
    schedule.warmup = learning_rate(mode) * static_cast<double>(o.integer("warmup-steps"));
  schedule.final_rate = o.real("final-rate");
  const bool ends = schedule.has_end();
  const std::optional<double> end = o.has("schedule-length") ? o.real("schedule-length")
                                    : ends                   ? asked_end(o, mode)
                                                             : std::nullopt;
  if (ends && !end)
    throw UsageError("--learning-rate-schedule " + o.word("learning-rate-schedule") +
                     " needs an end: give --schedule-length or --t-end");
  schedule.length = end.value_or(0);
  if (ends && !(schedule.length > 0))
    throw UsageError("--schedule-length is " + shortest(schedule.length) + "; it must be positive");
  if (ends && !(schedule.warmup < schedule.length))
    throw UsageError("--learning-rate-schedule " + o.word("learning-rate-schedule") +
                     " begins after the warm-up, at " + shortest(schedule.warmup) +
                     ", but ends at " + shortest(schedule.length) +
                     "; give a longer --schedule-length or a shorter warm-up");
  return RateSchedule(std::move(schedule));
}

std::vector<std::pair<std::string, double>> rates_of(const std::string& words) {
  std::vector<std::pair<std::string, double>> rates;
  if (words.empty()) return rates;
  for (const std::string& part : text::split(words, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0)
      throw UsageError("--rates has '" + part +
                       "'; it must be FIELD=FACTOR, several separated by "
                       "commas");
    const Parameter factor{.name = "rates",
                           .kind = Kind::real,
                           .default_text = "",
                           .meaning = "",
                           .range = {.low = 0}};
    rates.emplace_back(part.substr(0, equals),
                       std::get<double>(parse_value(factor, part.substr(equals + 1))));
  }
  return rates;
}

/// Variance of the gradient that the rule needs as an input. Empty in modes in which the second
/// moment is computed from noisy gradients, and so includes their variance.
std::optional<GradientVariance::Options> variance_of(const Parameters& o, const ModePlan& mode) {
  const auto* sde = std::get_if<SdePlan>(&mode);
  const bool of_flow = std::holds_alternative<FlowPlan>(mode) && o.flag("batch-noise-in-variance");
  if (!of_flow && (sde == nullptr || step_length(mode) > 0)) return std::nullopt;
  GradientVariance::Options variance;
  // The samples use the seed of the problem, not that of the noise, because runs of an ensemble and
  // cells with their own noise share a System.
  variance.batch_size = o.integer("batch-size");
  variance.seed = static_cast<std::uint64_t>(o.integer("problem-seed"));
  for (const char* option : {"noise-samples", "variance-samples"})
    if (o.has(option)) variance.samples = o.integer(option);
  if (sde == nullptr) return variance;
  if (!sde->driver.noise->of_gradients) variance.isotropic = sde->driver.noise_scale;
  variance.fresh_every = sde->driver.learning_rate;
  return variance;
}

}  // namespace

std::optional<TrainingPlan> training_plan(const Parameters& options, const ModePlan& mode) {
  TrainingPlan plan;
  plan.rule = &update_rule(options.word("optimizer"));
  plan.schedule = schedule_of(options, mode);
  plan.rates = rates_of(options.has("rates") ? options.word("rates") : "");
  RuleNumbers<double>& numbers = plan.numbers;
  const std::string decay = options.has("decay") ? options.word("decay") : "";
  const bool beside = decay.empty() ? plan.rule->decouples_decay : decay == "decoupled";
  if (options.has("weight-decay"))
    (beside ? numbers.decoupled : numbers.coupled) = options.real("weight-decay");
  if (options.has("clip-norm")) plan.clip_norm = options.real("clip-norm");
  if (options.has("average")) plan.average = options.real("average");
  if (!plan.averages() && plan.rule == &update_rules().front() && plan.schedule.is_constant() &&
      plan.rates.empty() && !plan.decays() && !plan.is_whole())
    return std::nullopt;
  numbers.learning_rate = learning_rate(mode);
  numbers.beta1 = options.real(plan.rule->takes_beta1 ? "beta1" : "momentum");
  plan.momentum = options.real("momentum");
  plan.by_newton_schulz = options.word("orthogonalise") == "newton-schulz";
  numbers.beta2 = options.has("beta2") ? options.real("beta2") : plan.rule->default_beta2;
  numbers.epsilon = options.real("epsilon");
  numbers.steps_before = options.real("optimizer-steps");
  plan.moments_of_file = options.has("init-optimizer") && options.word("init-optimizer") == "file";
  plan.steps_of_file = plan.moments_of_file && !options.given("optimizer-steps");
  plan.records_moments = options.flag("state-of-optimizer");
  const bool is_flow = std::holds_alternative<FlowPlan>(mode);
  plan.takes_steps = !is_flow && step_length(mode) > 0;
  if (const auto* sgd = std::get_if<SgdPlan>(&mode)) interpolate_by_svag(plan, sgd->driver.svag);
  if (plan.rule->is_adaptive()) plan.variance = variance_of(options, mode);
  if ((plan.variance || (!is_flow && !plan.takes_steps)) &&
      (plan.clip_norm > 0 || plan.rule->whole == UpdateRule::Whole::unit_length))
    throw UsageError((plan.clip_norm > 0 ? "--clip-norm" : "--optimizer normalised") +
                     std::string(": the mean step depends on the whole distribution of a "
                                 "minibatch's gradient, not only on its covariance; use the "
                                 "full-batch flow, --mode sgd, or --method gradient_descent"));
  if (plan.rule->takes_signs && is_flow && !plan.variance)
    throw UsageError("--optimizer " + std::string(plan.rule->name) +
                     ": its full-batch flow jumps where a gradient changes its sign; use "
                     "--batch-noise-in-variance, which smooths the flow for --batch-size");
  return plan;
}

}  // namespace popflow
