#include "run/modes.hpp"

#include <algorithm>
#include <cmath>

#include "popflow/error.hpp"
#include "popflow/flow_driver.hpp"
#include "popflow/sde_driver.hpp"
#include "popflow/sgd_driver.hpp"

namespace popflow {

namespace {

FlowDriver::Options flow_options(const Parameters& o, DriverHooks hooks) {
  FlowDriver::Options options;
  options.method = o.word("method");
  options.rtol = o.real("rtol");
  options.atol = o.real("atol");
  if (o.has("dt")) options.dt = o.real("dt");
  options.max_steps = o.integer("max-steps");
  if (o.has("stop-when")) options.steady_tolerance = o.real("steady-tolerance");
  options.interrupted = std::move(hooks.interrupted);
  options.on_step = std::move(hooks.on_step);
  return options;
}

SgdDriver::Options sgd_options(const Parameters& o, std::uint32_t run, DriverHooks hooks) {
  SgdDriver::Options options;
  options.learning_rate = o.real("learning-rate");
  options.batch_size = o.integer("batch-size");
  options.svag = o.integer("svag");
  options.seed = static_cast<std::uint64_t>(o.integer("seed"));
  options.run = run;
  options.hooks = std::move(hooks);
  return options;
}

/// A whole number of steps, at least one.
void settle_steps(Parameters& options, const System& system) {
  const double h = step_length(options);
  if (!(h > 0)) {
    if (options.has("steps"))
      throw UsageError(
          "--steps is for --mode sgd and --method gradient_descent; here --t-end says "
          "where to end");
    if (!options.has("t-end")) options.resolve("t-end", system.default_end());
    return;
  }
  const double end = options.has("t-end") ? options.real("t-end") : system.default_end();
  const double wanted = options.has("steps") && !options.has("t-end")
                            ? static_cast<double>(options.integer("steps"))
                            : std::max(1.0, std::round(end / h));
  if (wanted >= 0x1p53)
    throw UsageError("--t-end " + shortest(end) + " takes " + shortest(wanted) + " steps of " +
                     shortest(h) + "; there can be at most 2^53");
  const auto steps = static_cast<std::int64_t>(wanted);
  if (options.has("steps") && options.integer("steps") != steps)
    throw UsageError("--steps " + options.text("steps") + " and --t-end " + shortest(end) +
                     " contradict each other; give one of them");
  options.resolve("steps", steps);
  options.resolve("t-end", static_cast<double>(steps) * h);
}

}  // namespace

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
  options.seed = static_cast<std::uint64_t>(o.integer("seed"));
  options.run = run;
  options.hooks = std::move(hooks);
  return options;
}

bool is_ensemble(const Parameters& options) { return options.word("mode") != "flow"; }

double step_length(const Parameters& options) {
  const std::string& mode = options.word("mode");
  const double eta = options.real("learning-rate");
  if (mode == "sgd") return eta / static_cast<double>(options.integer("svag"));
  return mode == "sde" && options.word("method") == "gradient_descent" ? eta : 0;
}

void settle_mode(Parameters& options, const System& system) {
  settle_steps(options, system);
  if (!options.has("noise-samples"))
    options.resolve("noise-samples", std::max<std::int64_t>(2, options.integer("batch-size")));
  if (options.word("mode") != "sde") return;
  const double h = step_length(options);
  if (h > 0)
    options.resolve("dt", h);
  else if (!options.has("dt"))
    options.resolve("dt", 0.1 * options.real("learning-rate"));
}

std::unique_ptr<Driver> make_driver(const System& system, Workers& workers,
                                    const Parameters& options, std::uint32_t run,
                                    DriverHooks hooks) {
  const std::string& mode = options.word("mode");
  if (mode == "sgd")
    return std::make_unique<SgdDriver>(system, workers,
                                       sgd_options(options, run, std::move(hooks)));
  if (mode == "sde")
    return std::make_unique<SdeDriver>(system, workers,
                                       sde_options(options, run, std::move(hooks)));
  return std::make_unique<FlowDriver>(system, workers, flow_options(options, std::move(hooks)));
}

std::unique_ptr<Driver> make_coarse_driver(const System& system, Workers& workers,
                                           const Parameters& options, std::uint32_t run,
                                           DriverHooks hooks) {
  SdeDriver::Options coarse = sde_options(options, run, std::move(hooks));
  coarse.coarsen = 2;
  return std::make_unique<SdeDriver>(system, workers, std::move(coarse));
}

}  // namespace popflow
