#include "run/continued_runs.hpp"

#include "flow/start_state.hpp"
#include "popflow/data_file.hpp"
#include "popflow/error.hpp"
#include "popflow/system.hpp"
#include "run/coordinates_of_start.hpp"
#include "run/last_state.hpp"

namespace popflow {

namespace {

/// Returns the number of runs; 1 for a single run, which is not an ensemble.
std::size_t runs_in(const DataFile& file) {
  return file.has_dataset("status") ? file.length("status") : 1;
}

}  // namespace

std::optional<ContinuedRuns> ContinuedRuns::of(const Plan& plan) {
  if (!plan.problem.start || !plan.ensemble.is_one) return std::nullopt;
  const DataFile file(*plan.problem.start);
  const std::size_t runs = runs_in(file);
  if (runs < 2) return std::nullopt;
  ContinuedRuns continued;
  continued.path_ = file.path();
  for (const std::int64_t number : file.integers("run", runs))
    continued.places_.emplace(number, continued.places_.size());
  return continued;
}

std::size_t ContinuedRuns::place_of(std::size_t number) const {
  const auto found = places_.find(static_cast<std::int64_t>(number));
  if (found == places_.end())
    throw UsageError("--init-from " + path_ + " has " + std::to_string(places_.size()) +
                     " runs, but run number " + std::to_string(number) +
                     " is not among them and cannot be continued; give --runs " +
                     std::to_string(places_.size()));
  return found->second;
}

Restart ContinuedRuns::start_of(std::size_t number, const RunConfig& config, const System& system,
                                const Catalogue& catalogue, Workers& workers,
                                const DriverData& data) const {
  const auto own = make_system(config, catalogue, workers, place_of(number)).system;
  StartState start(*own);
  start.x = in_coordinates_of(system, *own, start.x, start.regime);
  return {.x = std::move(start.x), .regime = std::move(start.regime), .sequence = 0, .data = data};
}

std::string start_note(const Parameters& options) {
  if (!options.has("init-from")) return "";
  const DataFile file(options.word("init-from"));
  const std::size_t runs = runs_in(file);
  if (runs < 2) return "";
  std::string where = " runs; the start is the end of its first run";
  if (options.find("mode") == nullptr)  // a comparison, which has no mode
    where +=
        " for the flow and its discretisations; each noisy run continues the run of its number";
  else if (has_noise(options))
    where = " runs; each run continues the run of its number";
  return "--init-from " + file.path() + " has " + std::to_string(runs) + where;
}

std::string start_warning(const Parameters& options) {
  if (!options.has("init-from") || !has_noise(options)) return "";
  const DataFile file(options.word("init-from"));
  if (!file.has_group("parameters")) return "";
  const auto seed = file.number_attribute("parameters", "seed");
  const bool replays = file.text_attribute("parameters", "mode") == options.word("mode") && seed &&
                       *seed == static_cast<double>(options.integer("seed"));
  if (!replays) return "";
  return "--seed " + options.text("seed") + " is also the seed of " + file.path() +
         ": this run draws the same samples and noise as that one; choose another --seed";
}

}  // namespace popflow
