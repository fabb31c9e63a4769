#include "run/modes.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "flow/flow_lanes.hpp"
#include "noise/sde_lanes.hpp"
#include "noise/sde_methods.hpp"
#include "options/methods.hpp"
#include "popflow/error.hpp"
#include "popflow/flow_driver.hpp"
#include "popflow/sde_driver.hpp"
#include "popflow/sgd_driver.hpp"
#include "run/schedule.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// Noisy runs know how many steps they take, so they have no limit by default.
std::int64_t noisy_step_limit(const Parameters& o) {
  return o.given("max-steps") ? o.integer("max-steps") : 0;
}

UsageError too_many_steps(double end, double h) {
  return UsageError("--t-end " + shortest(end) + " takes " + shortest(std::round(end / h)) +
                    " steps of " + shortest(h) + "; there can be at most 2^53");
}

/// The sde's steps are counted; so are those of the learning rate, each of which has samples of its
/// own, where the noise is that of samples.
void refuse_countless(const Parameters& options, const System& system) {
  const double end = options.real("t-end");
  const bool drawn = noise_is_of_samples(options, system);
  for (const char* step : {"dt", "learning-rate"})
    if ((drawn || std::string(step) == "dt") && end / options.real(step) > largest_whole)
      throw too_many_steps(end, options.real(step));
}

SgdDriver::Options sgd_options(const Parameters& o, std::uint32_t run, DriverHooks hooks) {
  SgdDriver::Options options;
  options.learning_rate = o.real("learning-rate");
  options.batch_size = o.integer("batch-size");
  options.svag = o.integer("svag");
  options.max_steps = noisy_step_limit(o);
  options.seed = static_cast<std::uint64_t>(o.integer("seed"));
  options.run = run;
  options.hooks = std::move(hooks);
  return options;
}

}  // namespace

FlowDriver::Options flow_options(const Parameters& o, DriverHooks hooks) {
  FlowDriver::Options options;
  options.method = o.word("method");
  options.rtol = o.real("rtol");
  options.atol = o.real("atol");
  if (o.word("error-norm") == "rms") options.error_norm = ErrorNorm::rms;
  if (o.has("dt")) options.dt = o.real("dt");
  if (o.has("max-step")) options.max_step = o.real("max-step");
  options.max_steps = o.integer("max-steps");
  const std::string stop = o.has("stop-when") ? o.word("stop-when") : "";
  if (stop == "steady" || stop == "either") options.steady_tolerance = o.real("steady-tolerance");
  options.stop_when_stuck = stop == "stuck" || stop == "either";
  if (o.has("t-end")) options.end = o.real("t-end");
  options.hooks = std::move(hooks);
  return options;
}

SdeDriver::Options sde_options(const Parameters& o, std::uint32_t run, DriverHooks hooks) {
  SdeDriver::Options options;
  options.method = o.word("method");
  options.learning_rate = o.real("learning-rate");
  options.batch_size = o.integer("batch-size");
  options.dt = o.real("dt");
  options.noise = o.word("noise");
  options.noise_scale = o.real("noise-scale");
  options.noise_samples = o.integer("noise-samples");
  options.modified_equation = o.integer("modified-equation");
  options.max_steps = noisy_step_limit(o);
  options.seed = static_cast<std::uint64_t>(o.integer("seed"));
  options.run = run;
  options.hooks = std::move(hooks);
  return options;
}

bool noise_is_of_samples(const Parameters& options, const System& system) {
  return options.word("noise") != "isotropic" && !system.capabilities().covariance;
}

bool is_noisy_descent(const Parameters& options) {
  return options.word("mode") == "sde" && options.has("method") &&
         sde_method(options.word("method")).steps == StepRule::learning_rate;
}

bool is_ensemble(const Parameters& options) { return options.word("mode") != "flow"; }

double step_length(const Parameters& options) {
  const std::string& mode = options.word("mode");
  const double eta = options.real("learning-rate");
  if (mode == "sgd") return eta / static_cast<double>(options.integer("svag"));
  return is_noisy_descent(options) ? eta : 0;
}

void settle_steps(Parameters& options) {
  if (!options.has("noise-samples"))
    options.resolve("noise-samples", std::max<std::int64_t>(2, options.integer("batch-size")));
  if (options.word("mode") != "sde") return;
  const double h = step_length(options);
  if (h > 0)
    options.resolve("dt", h);
  else if (!options.has("dt"))
    options.resolve("dt", 0.1 * options.real("learning-rate"));
}

Setting make_setting(const Parameters& options, const LastState* start) {
  Setting setting;
  setting.noisy = is_ensemble(options);
  const bool chosen = options.word("mode") == "sgd" || options.word("mode") == "sde";
  const Method* method = options.has("method") ? find_method(options.word("method")) : nullptr;
  const bool fixed = method != nullptr && method->steps == StepRule::fixed;
  if (const double h = step_length(options); h > 0)
    setting.step = h;
  else if ((chosen || fixed) && options.has("dt"))
    setting.step = options.real("dt");
  if (!setting.noisy && options.has("dt")) setting.dt = options.real("dt");
  if (options.has("problem")) setting.problem = options.word("problem");
  setting.problem_seed = static_cast<std::uint64_t>(options.integer("problem-seed"));
  setting.start = start;
  return setting;
}

double default_end(const System& system) {
  const double end = system.default_end();
  if (std::isfinite(end)) return end;
  throw UsageError("the time that this flow of " + system.info().name +
                   " takes is too long for a number; --t-end sets where it ends");
}

void settle_end(Parameters& options, const System& system) {
  const double h = step_length(options);
  if (is_ensemble(options) && options.has("t-end") && options.real("t-end") == 0)
    throw UsageError("--t-end 0 evaluates a start, where there is no noise yet; take --mode flow");
  if (!(h > 0)) {
    if (options.has("steps"))
      throw UsageError(
          "--steps is for --mode sgd and --method gradient_descent; here --t-end sets the end");
    if (!options.has("t-end")) options.resolve("t-end", default_end(system));
    if (options.word("mode") == "sde") refuse_countless(options, system);
    return;
  }
  const bool by_steps = options.has("steps") && !options.has("t-end");
  const double end = by_steps               ? static_cast<double>(options.integer("steps")) * h
                     : options.has("t-end") ? options.real("t-end")
                                            : default_end(system);
  const double wanted =
      by_steps ? static_cast<double>(options.integer("steps")) : std::max(1.0, std::round(end / h));
  // A whole number of steps, at least one.
  if (wanted > largest_whole) throw too_many_steps(end, h);
  const auto steps = static_cast<std::int64_t>(wanted);
  if (options.has("steps") && options.integer("steps") != steps)
    throw UsageError("--steps " + options.text("steps") + " and --t-end " + shortest(end) +
                     " disagree; give one of them");
  round_saves(options, options.has("steps") ? static_cast<double>(steps) * h : end);
  options.resolve("steps", steps);
  options.resolve("t-end", static_cast<double>(steps) * h);
}

void settle_longest_step(Parameters& options, const System& system) {
  const double longest = system.capabilities().longest_step;
  if (options.word("mode") != "flow" || options.has("max-step") || !std::isfinite(longest)) return;
  if (find_method(options.word("method"))->steps == StepRule::adaptive)
    options.resolve("max-step", longest);
}

std::string said_of_rounded_end(const Parameters& given, const Parameters& settled) {
  const double h = step_length(settled);
  if (!(h > 0) || !given.given("t-end")) return "";
  constexpr double kRounding = 1e-9;
  const double asked = given.real("t-end"), end = settled.real("t-end");
  if (std::abs(asked - end) <= kRounding * end) return "";
  return "--t-end " + shortest(asked) + " is no whole number of steps of " + shortest(h) +
         ": the end is t = " + text::rounded(end);
}

namespace {

void require_lanes(const Parameters& options, bool any, const std::string& what) {
  if (options.word("kernel") == "lanes" && !any)
    throw UsageError("--kernel lanes: there are none for " + what + "; take auto or scalar");
}

void resolve_kernel(Parameters& options, bool lanes) {
  if (options.word("kernel") == "auto")
    options.resolve("kernel", std::string(lanes ? "lanes" : "scalar"));
}

}  // namespace

void settle_flow_kernel(Parameters& options, const SystemInfo& info, const Parameters& own) {
  resolve_kernel(options, info.flow_in_lanes &&
                              flow_lanes_take(options.word("method"), options.has("stop-when")) &&
                              info.flow_in_lanes(own));
}

void settle_kernel(Parameters& options, const System& system, bool of_sweep) {
  const std::string& mode = options.word("mode");
  const std::string& name = system.info().name;
  if (mode == "flow") {
    const Capability<InLanes> offered = system.capabilities().in_lanes;
    const bool lanes = has_flow_lanes(system, options.word("method"), options.has("stop-when"));
    require_lanes(options, lanes,
                  "the flow of " + name +
                      (offered                     ? " with this --method, or with --stop-when"
                       : offered.why_not().empty() ? ""
                                                   : " (" + offered.why_not() + ")"));
    resolve_kernel(options, of_sweep && lanes);
  } else if (mode == "sde") {
    const bool lanes = has_noisy_lanes(system, sde_options(options, 0, {}));
    require_lanes(options, lanes, "the noise of " + name + " with these options");
    resolve_kernel(options, lanes);
  }
}

std::unique_ptr<Driver> make_driver(const System& system, Workers& workers,
                                    const Parameters& options, std::uint32_t run,
                                    DriverHooks hooks) {
  const std::string& mode = options.word("mode");
  if (mode == "sgd")
    return std::make_unique<SgdDriver>(system, workers,
                                       sgd_options(options, run, std::move(hooks)));
  if (mode == "flow") {
    FlowDriver::Options flow = flow_options(options, std::move(hooks));
    if (options.word("kernel") != "lanes")
      return std::make_unique<FlowDriver>(system, workers, std::move(flow));
    const std::function<bool()> interrupted = flow.hooks.interrupted;
    return std::move(FlowLanes({{&system, std::move(flow)}}, interrupted).drivers().front());
  }
  SdeDriver::Options sde = sde_options(options, run, std::move(hooks));
  if (!has_noisy_lanes(system, sde))
    return std::make_unique<SdeDriver>(system, workers, std::move(sde));
  // Alone in its lanes a run has the bits that it has beside others.
  std::vector<DriverHooks> alone = {std::move(sde.hooks)};
  return std::move(noisy_lanes(system, sde, {&run, 1}, std::move(alone)).front());
}

std::size_t runs_together(const Parameters& options) {
  const bool lanes = options.word("mode") == "sde" && options.word("kernel") == "lanes";
  return lanes ? kLanes : 1;
}

std::vector<std::unique_ptr<Driver>> make_drivers(const System& system, Workers& workers,
                                                  const Parameters& options,
                                                  std::span<const std::uint32_t> runs,
                                                  std::vector<DriverHooks> hooks) {
  if (runs_together(options) > 1)
    return noisy_lanes(system, sde_options(options, 0, {}), runs, std::move(hooks));
  std::vector<std::unique_ptr<Driver>> drivers;
  for (std::size_t i = 0; i < runs.size(); ++i)
    drivers.push_back(make_driver(system, workers, options, runs[i], std::move(hooks[i])));
  return drivers;
}

std::unique_ptr<Driver> make_coarse_driver(const System& system, Workers& workers,
                                           const Parameters& options, std::uint32_t run,
                                           DriverHooks hooks) {
  SdeDriver::Options coarse = sde_options(options, run, std::move(hooks));
  coarse.coarsen = 2;
  return std::make_unique<SdeDriver>(system, workers, std::move(coarse));
}

}  // namespace popflow
