#include "run/cost.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <vector>

#include "engine/drivers.hpp"
#include "noise/samples.hpp"
#include "popflow/datasets.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

constexpr double kWorthSaying = 60;  // seconds; shorter runs need no warning
constexpr double kTrial = 0.1;       // seconds

/// Returns the estimated seconds that all runs take on the threads of all ranks; 0 if they are too
/// few for a trial.
double seconds_of(const Experiment& experiment, int ranks) {
  const Plan& plan = experiment.plan;
  const double end = plan.schedule().back();
  if (!plan.ensemble.is_one || !(end > 0)) return 0;
  const double step = fixed_step(plan.mode).value();
  const auto runs = static_cast<double>(plan.ensemble.runs);
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
  if (plan.ensemble.runs > 1)
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

/// Change of one option that shortens all runs by a factor.
struct Shortening {
  double factor = 1;
  std::string option = {};
  std::string change = {};  ///< what else changes
};

/// Returns the option that shortens the experiment most.
Shortening best_shortening(const Experiment& experiment) {
  const Plan& plan = experiment.plan;
  const std::size_t runs = plan.ensemble.runs;
  const Parameters& options = experiment.config.options;
  const double end = plan.schedule().back(), step = fixed_step(plan.mode).value();
  const double eta = options.real("learning-rate");
  constexpr double kTenth = 10;
  std::vector<Shortening> all = {{kTenth, "--learning-rate " + text::rounded(kTenth * eta),
                                  "the steps and their noise are ten times as large"}};
  if (runs > 1) {
    const std::size_t fewer = runs > 16 ? 8 : 1;
    const double factor = static_cast<double>(runs) / static_cast<double>(fewer);
    all.push_back({factor, "--runs " + std::to_string(fewer),
                   fewer == 1 ? "there is no spread of runs"
                              : "errors of means are " + text::digits(std::sqrt(factor), 2) +
                                    " times as large"});
  }
  if (const double first = two_digits(2 * experiment.system->first_stage_time());
      first > 0 && first < end / 2)
    all.push_back({end / first, "--t-end " + text::rounded(first),
                   "the run ends soon after its first stage"});
  if (const auto* sde = std::get_if<SdePlan>(&plan.mode); sde != nullptr && step < eta)
    all.push_back({eta / step, "--dt " + text::rounded(eta),
                   "the integrator's error is larger; the file and 'compare' tell how large"});
  return *std::max_element(all.begin(), all.end(),
                           [](const auto& a, const auto& b) { return a.factor < b.factor; });
}

}  // namespace

std::string cost_warning(std::span<const Experiment* const> experiments, int ranks) {
  constexpr double kLong = 600;
  double seconds = 0, steps = 0, longest = 0;
  Shortening best;
  for (const Experiment* experiment : experiments) {
    const double its = seconds_of(*experiment, ranks);
    seconds += its;
    if (its > longest) best = best_shortening(*experiment);
    longest = std::max(longest, its);
    const Plan& plan = experiment->plan;
    if (plan.ensemble.is_one)
      steps += plan.schedule().back() / fixed_step(plan.mode).value() *
               static_cast<double>(plan.ensemble.runs);
  }
  if (seconds < kWorthSaying) return "";
  const std::string estimate = "this will take about " + long_time(seconds) + " (" +
                               text::digits(steps) + " noisy steps in all runs)";
  if (seconds < kLong)
    return estimate +
           "; a smaller --t-end, --steps or --runs, or a larger --learning-rate, makes it shorter";
  return estimate + ". " + best.option + " shortens it most, by a factor of " +
         text::digits(best.factor, 2) + ": " + best.change + ". Ctrl-C keeps what is recorded";
}

}  // namespace popflow
