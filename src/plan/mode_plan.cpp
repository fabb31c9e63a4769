#include "plan/mode_plan.hpp"

#include <algorithm>

#include "noise/noise_models.hpp"
#include "training/trained.hpp"

namespace popflow {

namespace {

/// Noisy runs know their number of steps, so they have no step limit by default.
std::int64_t noisy_step_limit(const Parameters& o) {
  return o.given("max-steps") ? o.integer("max-steps") : 0;
}

FlowPlan flow_plan(const Parameters& o) {
  FlowPlan plan;
  plan.method = &flow_method(o.word("method"));
  FlowDriver::Options& driver = plan.driver;
  driver.method = plan.method->name;
  driver.rtol = o.real("rtol");
  driver.atol = o.real("atol");
  if (o.word("error-norm") == "rms") driver.error_norm = ErrorNorm::rms;
  if (o.has("dt")) driver.dt = o.real("dt");
  if (o.has("max-step")) driver.max_step = o.real("max-step");
  driver.max_steps = o.integer("max-steps");
  const std::string stop = o.has("stop-when") ? o.word("stop-when") : "";
  if (stop == "steady" || stop == "either") driver.steady_tolerance = o.real("steady-tolerance");
  plan.may_stop_early = !stop.empty();
  driver.stop_when_stuck = stop == "stuck" || stop == "either";
  return plan;
}

SdePlan sde_plan(const Parameters& o) {
  SdePlan plan;
  plan.method = &sde_method(o.word("method"));
  SdeDriver::Options& driver = plan.driver;
  driver.method = plan.method->name;
  driver.learning_rate = o.real("learning-rate");
  driver.batch_size = o.integer("batch-size");
  driver.dt = plan.method->steps == StepRule::learning_rate ? driver.learning_rate
              : o.has("dt")                                 ? o.real("dt")
                                                            : 0.1 * driver.learning_rate;
  driver.noise = o.word("noise");
  driver.noise_scale = o.real("noise-scale");
  driver.noise_samples =
      o.has("noise-samples") ? o.integer("noise-samples") : samples_of_noise(driver.batch_size);
  driver.modified_equation = o.integer("modified-equation");
  driver.max_steps = noisy_step_limit(o);
  driver.seed = static_cast<std::uint64_t>(o.integer("seed"));
  return plan;
}

SgdPlan sgd_plan(const Parameters& o) {
  SgdPlan plan;
  SgdDriver::Options& driver = plan.driver;
  driver.learning_rate = o.real("learning-rate");
  driver.batch_size = o.integer("batch-size");
  driver.svag = o.integer("svag");
  driver.max_steps = noisy_step_limit(o);
  driver.seed = static_cast<std::uint64_t>(o.integer("seed"));
  return plan;
}

/// Step size of explicit methods without error control.
std::optional<double> step_of(const ModePlan& mode) {
  if (const double h = step_length(mode); h > 0) return h;
  if (const auto* sde = std::get_if<SdePlan>(&mode)) return sde->driver.dt;
  const auto* flow = std::get_if<FlowPlan>(&mode);
  return flow != nullptr && flow->method->steps == StepRule::fixed ? flow->driver.dt : std::nullopt;
}

}  // namespace

ModePlan mode_plan(const Parameters& options) {
  const std::string& mode = options.word("mode");
  if (mode == "sde") return sde_plan(options);
  if (mode == "sgd") return sgd_plan(options);
  return flow_plan(options);
}

std::int64_t samples_of_noise(std::int64_t batch_size) {
  return std::max<std::int64_t>(2, batch_size);
}

std::string mode_of(const ModePlan& mode) {
  return std::holds_alternative<FlowPlan>(mode)  ? "flow"
         : std::holds_alternative<SdePlan>(mode) ? "sde"
                                                 : "sgd";
}

bool has_noise(const ModePlan& mode) { return !std::holds_alternative<FlowPlan>(mode); }

bool has_noise(const Parameters& options) { return options.word("mode") != "flow"; }

bool counts_steps(const Parameters& options) {
  const std::string& mode = options.word("mode");
  return mode == "sgd" || (mode == "sde" && options.has("method") &&
                           sde_method(options.word("method")).steps == StepRule::learning_rate);
}

double step_length(const ModePlan& mode) {
  if (const auto* sgd = std::get_if<SgdPlan>(&mode)) return SgdDriver::step_length(sgd->driver);
  const auto* sde = std::get_if<SdePlan>(&mode);
  return sde != nullptr && sde->method->steps == StepRule::learning_rate ? sde->driver.dt : 0;
}

bool draws_noise(const SdePlan& sde, const System& system) {
  return noise_kind(sde.driver.noise).of_gradients &&
         !source_of_gradients(system).capabilities().covariance;
}

Setting setting_of(const ModePlan& mode, const Parameters& options, const LastState* start) {
  Setting setting;
  setting.noisy = has_noise(mode);
  const std::optional<TrainingPlan> training = training_plan(options);
  setting.other_rule = training && training->rule->memory() > 0;
  setting.step = step_of(mode);
  if (const auto* flow = std::get_if<FlowPlan>(&mode)) setting.dt = flow->driver.dt;
  if (options.has("problem")) setting.problem = options.word("problem");
  setting.problem_seed = static_cast<std::uint64_t>(options.integer("problem-seed"));
  setting.start = start;
  return setting;
}

}  // namespace popflow
