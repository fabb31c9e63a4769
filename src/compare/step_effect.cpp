#include "compare/step_effect.hpp"

#include <atomic>
#include <cmath>
#include <limits>

#include "engine/interrupt.hpp"

namespace popflow {

namespace {

constexpr std::size_t kRuns = 8;  // each costs half as much as a run

}  // namespace

bool has_step_effect(const Rung& rung) {
  const Plan& plan = rung.experiment->plan;
  return std::holds_alternative<SdePlan>(plan.mode) && !(plan.step_length() > 0);
}

bool measure_step_effect(const Rung& rung, const RungPaths& paths, StepEffect& effect) {
  const Experiment& experiment = *rung.experiment;
  const System& system = *experiment.system;
  const std::size_t observables = paths.observables.size();
  const std::size_t times = experiment.plan.schedule().size();
  const double none = std::numeric_limits<double>::quiet_NaN();
  effect.mean.assign(observables, std::vector<double>(times, none));
  effect.error = effect.mean;
  // Diverged runs are not in `paths`, so run numbers would not match.
  if (paths.diverged > 0) return true;

  const std::size_t runs = std::min(kRuns, paths.runs);
  std::vector<double> change(runs * times * observables, none);
  std::atomic<bool> interrupted{false};
  experiment.workers.run(runs, [&](std::size_t run) {
    // The coarse solver takes the steps of the path two at a time.
    SdeDriver::Options coarse = std::get<SdePlan>(experiment.plan.mode).driver;
    coarse.coarsen = 2;
    coarse.run = static_cast<std::uint32_t>(run);
    coarse.hooks.interrupted = [] { return InterruptGuard::signal() != 0; };
    const auto driver = std::make_unique<SdeDriver>(system, experiment.workers, std::move(coarse));
    std::vector<double> values(observables);
    for (std::size_t t = 0; t < times; ++t) {
      const Outcome outcome = driver->advance(experiment.plan.schedule()[t]);
      if (outcome.kind == Outcome::Kind::interrupted) interrupted = true;
      if (outcome.kind != Outcome::Kind::reached) return;
      system.observe(driver->view(), driver->time(), values);
      for (std::size_t o = 0; o < observables; ++o)
        change[(run * times + t) * observables + o] = paths.observables[o].at(run, t) - values[o];
    }
  });
  if (interrupted) return false;
  for (std::size_t o = 0; o < observables; ++o) {
    Paths changes{runs, times, {}, false};
    for (std::size_t i = 0; i < runs * times; ++i)
      changes.values.push_back(change[i * observables + o]);
    const Moments m = moments(changes, 0.95);
    effect.mean[o] = m.mean;
    effect.error[o] = m.mean_error;
  }
  return true;
}

}  // namespace popflow
