#include "compare/comparison_plan.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdint>
#include <utility>
#include <variant>

#include "compare/noise_check.hpp"
#include "engine/specs.hpp"
#include "flow/start_state.hpp"
#include "options/rung_words.hpp"
#include "popflow/data_file.hpp"
#include "popflow/error.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// Attribute of each rung that starts from a file; identifies the start when the comparison is
/// resumed.
constexpr const char* kStart = "start";

/// Returns a hash of a system's start; only equal starts have equal hashes.
std::string start_hash(const System& system) {
  const StartState start(system);
  const std::uint64_t of_state = XXH3_64bits(start.x.data(), start.x.size() * sizeof(double));
  return text::hexadecimal(
      XXH3_64bits_withSeed(start.regime.data(), start.regime.size() * sizeof(double), of_state));
}

}  // namespace

ComparisonPlan::ComparisonPlan(RunConfig from, const Catalogue& catalogue, Workers& workers,
                               const std::string& recorded)
    : config(std::move(from)),
      given(given_rungs(config, catalogue.info(config.system), recorded)),
      ladders(make_ladders(config, catalogue, workers, !given.empty())) {
  if (!config.options.has("threads"))
    config.options.resolve("threads", std::int64_t{workers.threads()});
  if (checks_noise()) (void)noise_rung();
  if (!config.options.has("state")) cut_states();
}

/// Reads the rungs of --from; popflow's own rungs are recorded at their times.
std::vector<Trajectories> ComparisonPlan::given_rungs(RunConfig& config, const SystemInfo& system,
                                                      const std::string& recorded) {
  Parameters& options = config.options;
  std::vector<Trajectories> given;
  if (!options.has("from")) return given;
  if (options.has("learning-rates"))
    throw UsageError(
        "--learning-rates compares rungs at several learning rates, but the trajectories of --from "
        "have a single one; leave out one of the two options");
  for (const char* name : {"saves", "save-spacing", "save-first", "save-at", "t-end", "steps"})
    if (options.given(name) && recorded.empty())
      throw UsageError(std::string("--") + name +
                       " excludes --from: the rungs are recorded at the times of the files that "
                       "--from names; leave it out");
  const std::vector<FinishedFile> files = finished_files(options.word("from"));
  require_different_words(files);
  for (const FinishedFile& file : files) {
    require_free_word(file);
    if (rung_model(file.word, system))
      throw UsageError("--from names " + file.path + " " + file.word + ", but " + system.name +
                       " has a rung of this name; choose another name");
    given.push_back(
        recorded.empty()
            ? read_trajectories(file, &system, options.real("learning-rate"))
            : read_trajectories({file.word, recorded}, &system, {}, rung_group(file.word)));
  }
  std::vector<double> times = given.front().times;
  for (const Trajectories& of : given)  // no longer than the shortest file
    while (times.back() > of.times.back() && times.size() > 2) times.pop_back();
  for (const char* name : {"saves", "save-spacing", "save-first", "steps"}) options.unset(name);
  options.resolve("t-end", times.back());
  options.resolve("save-at", times);
  return given;
}

void ComparisonPlan::cut_states() {
  double bytes = 0;
  for (const Rung* rung : rungs())
    bytes += bytes_of_states(rung->experiment->plan, *rung->experiment->system);
  if (!(bytes > kMostStates)) return;
  for (const Rung* rung : rungs()) rung->experiment->cut_states();
}

std::vector<const Rung*> ComparisonPlan::rungs() const {
  std::vector<const Rung*> all;
  for (const Ladder& ladder : ladders)
    for (const Rung& rung : ladder.rungs) all.push_back(&rung);
  return all;
}

const Rung& ComparisonPlan::noise_rung() const {
  for (const Rung& rung : ladders.front().rungs)
    if (std::holds_alternative<SdePlan>(rung.experiment->plan.mode)) return rung;
  throw UsageError("--check-noise needs a rung with a noise model (sde, sde2 or gd); --rungs " +
                   config.options.word("rungs") + " has none");
}

SystemInfo ComparisonPlan::compared() const {
  const SystemInfo& info = ladders.front().rungs.front().experiment->system->info();
  return given.empty() ? info : with_observables_of(info, given);
}

std::vector<TimesOf> ComparisonPlan::times() const {
  std::vector<TimesOf> times;
  for (const Rung& rung : ladders.front().rungs)
    times.push_back({rung.word, rung.experiment->plan.schedule()});
  for (const Trajectories& of : given) times.push_back({of.file.name(), of.times});
  return times;
}

std::vector<std::string> ComparisonPlan::words() const {
  std::vector<std::string> words;
  for (const Rung& rung : ladders.front().rungs) words.push_back(rung.word);
  for (const Trajectories& of : given) words.push_back(of.file.word);
  return words;
}

ComparisonOptions ComparisonPlan::options_of(const Ladder& ladder) const {
  ComparisonOptions options = popflow::options_of(ladder, comparison_options(config.options));
  if (!given.empty()) options.times = common_times(times()).times;
  return options;
}

GroupSpec ComparisonPlan::ladder_group(const Ladder& ladder) const {
  GroupSpec group;
  group.name = ladder.group;
  for (const Rung& rung : ladder.rungs) {
    GroupSpec run = rung.experiment->layout();
    run.name = rung.group;
    run.attributes.push_back({"rung", rung.word});
    if (rung.experiment->config.options.has("init-from"))
      run.attributes.push_back({kStart, start_hash(*rung.experiment->system)});
    group.groups.push_back(std::move(run));
  }
  const SystemInfo system = compared();
  for (const Trajectories& of : given) group.groups.push_back(trajectories_group(of, system));
  group.groups.push_back(comparison_group(system, words(), ladder.learning_rate, options_of(ladder),
                                          happenings_of(ladder)));
  mark_trajectories(group.groups.back(), given, system);
  return group;
}

GroupSpec ComparisonPlan::layout() const {
  const SystemInfo& info = ladders.front().rungs.front().experiment->system->info();
  GroupSpec root;
  if (ladders.size() == 1) {
    root = ladder_group(ladders.front());
  } else {
    for (const Ladder& ladder : ladders) root.groups.push_back(ladder_group(ladder));
    root.groups.push_back(orders_group(ladders, config.options.real("level")));
  }
  std::vector<std::string> groups;
  for (const Rung* rung : rungs()) groups.push_back(rung->path);
  for (const Trajectories& of : given) groups.push_back(rung_group(of.file.word));
  root.attributes = file_attributes(info, "comparison: " + info.title, "compare", config);
  root.attributes.insert(root.attributes.end(),
                         {{"rungs", joined(words())},
                          {"settings", static_cast<std::int64_t>(ladders.size())},
                          {"run_groups", joined(groups)},
                          // Path at which --problem finds a problem.
                          {"problem", groups.front() + "/problem"}});
  if (checks_noise()) root.groups.push_back(noise_group(noise_rung()));
  root.groups.push_back(parameters_group(config));
  root.groups.push_back(
      provenance_group(static_cast<unsigned>(config.options.integer("threads")), info));
  return root;
}

void ComparisonPlan::require_same_starts(const std::string& path) const {
  for (const Rung* rung : rungs())
    if (DataFile(path, rung->path).text_attribute("", kStart) !=
        start_hash(*rung->experiment->system))
      throw InputError(path + " began from another start than the one that --init-from " +
                       config.options.text("init-from") +
                       " has now; restore that file to resume the comparison");
}

}  // namespace popflow
