#include "training/training_plan.hpp"

#include "popflow/error.hpp"
#include "popflow/math.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

RateSchedule schedule_of(const Parameters& o) {
  RateSchedule::Options schedule = RateSchedule::parse(o.word("learning-rate-schedule"));
  const double eta = o.real("learning-rate");
  if (o.has("warmup") && o.has("warmup-steps"))
    throw UsageError("--warmup and --warmup-steps exclude each other; give only one of them");
  if (o.has("warmup")) schedule.warmup = o.real("warmup");
  if (o.has("warmup-steps")) schedule.warmup = eta * static_cast<double>(o.integer("warmup-steps"));
  schedule.final_rate = o.real("final-rate");
  const bool ends = schedule.has_end();
  if (o.has("schedule-length")) {
    schedule.length = o.real("schedule-length");
  } else if (ends && o.has("t-end")) {
    schedule.length = o.real("t-end");
  } else if (ends && o.has("steps")) {
    schedule.length = eta * static_cast<double>(o.integer("steps"));
  } else if (ends) {
    throw UsageError("--learning-rate-schedule " + o.word("learning-rate-schedule") +
                     " needs an end: give --schedule-length or --t-end");
  }
  if (ends && !(schedule.length > 0))
    throw UsageError("--schedule-length is " + shortest(schedule.length) + "; it must be positive");
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
std::optional<GradientVariance::Options> variance_of(const Parameters& o) {
  const std::string& mode = o.word("mode");
  const bool flow = mode == "flow" && o.flag("batch-noise-in-variance");
  const bool sde = mode == "sde" && o.word("method") != "gradient_descent";
  if (!flow && !sde) return std::nullopt;
  GradientVariance::Options variance;
  // The samples use the seed of the problem, not that of the noise, because runs of an ensemble and
  // cells with their own noise share a System.
  variance.batch_size = o.integer("batch-size");
  variance.seed = static_cast<std::uint64_t>(o.integer("problem-seed"));
  if (o.has("noise-samples")) variance.samples = o.integer("noise-samples");
  if (sde && o.word("noise") == "isotropic") variance.isotropic = o.real("noise-scale");
  if (sde) variance.fresh_every = o.real("learning-rate");
  return variance;
}

}  // namespace

void interpolate_by_svag(TrainingPlan& plan, std::int64_t l) {
  if (l < 2) return;
  const bool plain = plan.rule == &update_rules().front();
  if (!plain && plan.rule != &update_rule("momentum"))
    throw UsageError("--svag is available for --optimizer sgd and momentum, not " +
                     std::string(plan.rule->name) +
                     ", because its steps do not converge to its SDE; use --svag 1");
  if (plain) return;
  const double beta = math::pow(plan.numbers.beta1, 1 / static_cast<double>(l));
  plan.step_factor = (1 - beta) / (1 - plan.numbers.beta1);
  plan.numbers.beta1 = beta;
  plan.numbers.decoupled /= plan.step_factor;  // the decay acts on the length of a step
}

bool is_plain(const Parameters& options) {
  if (options.find("optimizer") == nullptr) return true;
  return options.word("optimizer") == update_rules().front().name &&
         options.word("learning-rate-schedule") == "constant" && !options.has("warmup") &&
         !options.has("warmup-steps") && !options.has("rates") &&
         !(options.has("weight-decay") && options.real("weight-decay") > 0);
}

std::optional<TrainingPlan> training_plan(const Parameters& options) {
  if (is_plain(options)) return std::nullopt;
  TrainingPlan plan;
  plan.rule = &update_rule(options.word("optimizer"));
  plan.schedule = schedule_of(options);
  plan.rates = rates_of(options.has("rates") ? options.word("rates") : "");
  RuleNumbers<double>& numbers = plan.numbers;
  const std::string decay = options.has("decay") ? options.word("decay") : "";
  const bool beside = decay.empty() ? plan.rule->decouples_decay : decay == "decoupled";
  if (options.has("weight-decay"))
    (beside ? numbers.decoupled : numbers.coupled) = options.real("weight-decay");
  if (plan.rule == &update_rules().front() && plan.schedule.is_constant() && plan.rates.empty() &&
      !plan.decays())
    return std::nullopt;
  numbers.learning_rate = options.real("learning-rate");
  numbers.beta1 = options.real(plan.rule->has_u ? "beta1" : "momentum");
  numbers.beta2 = options.has("beta2") ? options.real("beta2") : plan.rule->default_beta2;
  numbers.epsilon = options.real("epsilon");
  plan.records_moments =
      options.find("state-of-optimizer") != nullptr && options.flag("state-of-optimizer");
  if (options.word("mode") == "sgd") interpolate_by_svag(plan, options.integer("svag"));
  if (plan.rule->is_adaptive()) plan.variance = variance_of(options);
  if (plan.rule->takes_signs && options.word("mode") == "flow" && !plan.variance)
    throw UsageError("--optimizer " + std::string(plan.rule->name) +
                     ": its full-batch flow jumps where a gradient changes its sign; use "
                     "--batch-noise-in-variance, which smooths the flow for --batch-size");
  return plan;
}

}  // namespace popflow
