#include "plan/mode_plan.hpp"

#include "noise/noise_models.hpp"
#include "noise/samples.hpp"
#include "training/trained.hpp"

namespace popflow {

namespace {

/// Noisy runs know their number of steps, so they have no step limit by default.
std::int64_t noisy_step_limit(const Parameters& o) {
  return o.given("max-steps") ? o.integer("max-steps") : 0;
}

Kernel kernel_of(const Parameters& o) {
  const std::string& word = o.word("kernel");
  return word == "auto" ? Kernel::automatic : word == "lanes" ? Kernel::lanes : Kernel::scalar;
}

FlowPlan flow_plan(const Parameters& o, double learning_rate) {
  FlowPlan plan;
  plan.learning_rate = learning_rate;
  plan.kernel = kernel_of(o);
  FlowDriver::Options& driver = plan.driver;
  driver.method = o.word("method");
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

SdePlan sde_plan(const Parameters& o, double learning_rate) {
  SdePlan plan;
  plan.kernel = kernel_of(o);
  SdeDriver::Options& driver = plan.driver;
  driver.method = o.word("method");
  driver.learning_rate = learning_rate;
  driver.batch_size = o.integer("batch-size");
  driver.dt = driver.method->steps == StepRule::learning_rate ? driver.learning_rate
              : o.has("dt")                                   ? o.real("dt")
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

SgdPlan sgd_plan(const Parameters& o, double learning_rate) {
  SgdPlan plan;
  SgdDriver::Options& driver = plan.driver;
  driver.learning_rate = learning_rate;
  driver.batch_size = o.integer("batch-size");
  driver.svag = o.integer("svag");
  driver.max_steps = noisy_step_limit(o);
  driver.seed = static_cast<std::uint64_t>(o.integer("seed"));
  return plan;
}

}  // namespace

ModePlan mode_plan(const Parameters& options) {
  const std::string& mode = options.word("mode");
  const double learning_rate = options.real("learning-rate");
  if (mode == "sde") return sde_plan(options, learning_rate);
  if (mode == "sgd") return sgd_plan(options, learning_rate);
  return flow_plan(options, learning_rate);
}

std::string mode_of(const ModePlan& mode) {
  return std::holds_alternative<FlowPlan>(mode)  ? "flow"
         : std::holds_alternative<SdePlan>(mode) ? "sde"
                                                 : "sgd";
}

double learning_rate(const ModePlan& mode) {
  if (const auto* flow = std::get_if<FlowPlan>(&mode)) return flow->learning_rate;
  if (const auto* sde = std::get_if<SdePlan>(&mode)) return sde->driver.learning_rate;
  return std::get<SgdPlan>(mode).driver.learning_rate;
}

std::optional<double> fixed_step(const ModePlan& mode) {
  if (const double h = step_length(mode); h > 0) return h;
  if (const auto* sde = std::get_if<SdePlan>(&mode)) return sde->driver.dt;
  const auto* flow = std::get_if<FlowPlan>(&mode);
  return flow != nullptr && flow->driver.method->steps == StepRule::fixed ? flow->driver.dt
                                                                          : std::nullopt;
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
  return sde != nullptr && sde->driver.method->steps == StepRule::learning_rate ? sde->driver.dt
                                                                                : 0;
}

bool draws_noise(const SdePlan& sde, const System& system) {
  return sde.driver.noise->of_gradients && !source_of_gradients(system).capabilities().covariance;
}

}  // namespace popflow
