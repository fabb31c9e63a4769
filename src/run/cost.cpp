#include "run/cost.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>

#include "engine/drivers.hpp"
#include "noise/samples.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

constexpr double kWorthSaying = 60;  // seconds; shorter runs need no warning
constexpr double kTrial = 0.1;       // seconds

/// Returns the flow time of a step of a noisy mode; 0 for a flow.
double step_of(const ModePlan& mode) {
  const auto* sde = std::get_if<SdePlan>(&mode);
  return sde != nullptr ? sde->driver.dt : step_length(mode);
}

/// Returns the estimated seconds that all runs take on the threads of all ranks; 0 if they are too
/// few for a trial.
double seconds_of(const Experiment& experiment, int ranks) {
  const RunPlan& plan = experiment.plan;
  const double end = plan.schedule().back();
  const double step = step_of(plan.mode);
  if (!(step > 0) || !(end > 0)) return 0;
  const auto runs = static_cast<double>(plan.runs);
  // Lower bound on the seconds per number of the state or per sample and step.
  constexpr double kWorthATrial = 1e-9;
  if (end / step * runs * experiment.memory_doubles() * kWorthATrial < 10 * kTrial) return 0;

  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  double reached = 0;
  const auto trial = [&](std::size_t) {
    const auto driver =
        make_driver(*experiment.system, experiment.workers, plan.mode, 0,
                    {.interrupted = [&] { return seconds() > kTrial; }, .on_step = {}, .warn = {}});
    (void)driver->advance(end);
    reached = driver->time();
  };
  // Runs of an ensemble have one thread each, a single run has all threads.
  if (plan.runs > 1)
    experiment.workers.run(1, trial);
  else
    trial(0);
  if (!(reached > 0)) return 0;
  const double at_once =
      static_cast<double>(runs_together(plan.mode)) *
      std::min<double>(ranks * static_cast<double>(experiment.workers.threads()), runs);
  return seconds() * (end / reached) * std::ceil(runs / at_once);
}

/// Formats a duration roughly, in a suitable unit.
std::string long_time(double seconds) {
  constexpr double kHour = 3600, kDay = 86400;
  const auto whole = [](double units) { return std::to_string(std::llround(units)); };
  if (seconds < 100) return whole(seconds) + " seconds";
  if (seconds < 2 * kHour) return whole(seconds / 60) + " minutes";
  if (seconds < 2 * kDay) return whole(seconds / kHour) + " hours";
  return whole(seconds / kDay) + " days";
}

}  // namespace

std::string cost_warning(std::span<const Experiment* const> experiments, int ranks) {
  double seconds = 0, steps = 0;
  for (const Experiment* experiment : experiments) {
    seconds += seconds_of(*experiment, ranks);
    if (const double step = step_of(experiment->plan.mode); step > 0)
      steps +=
          experiment->plan.schedule().back() / step * static_cast<double>(experiment->plan.runs);
  }
  if (seconds < kWorthSaying) return "";
  return "this will take about " + long_time(seconds) + " (" + text::digits(steps) +
         " noisy steps in all runs); a smaller --t-end, --steps or --runs, or a larger "
         "--learning-rate, makes it shorter";
}

}  // namespace popflow
