#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <utility>

#include "compare/comparison.hpp"
#include "compare/estimate.hpp"
#include "compare/finished.hpp"
#include "compare/rungs.hpp"
#include "compare/trajectories.hpp"
#include "compare/when.hpp"
#include "engine/interrupt.hpp"
#include "engine/made_of_files.hpp"
#include "engine/specs.hpp"
#include "engine/status.hpp"
#include "file/copy_numbers.hpp"
#include "file/stored_file.hpp"
#include "file/structure.hpp"
#include "plan/mode_plan.hpp"
#include "plan/schedule.hpp"
#include "run/experiment.hpp"
#include "run/resume_config.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// Finished file of a run, with its contents.
struct FinishedRung {
  FinishedFile file;
  RunConfig config;
  std::vector<double> times;
  std::size_t runs = 1;

  [[nodiscard]] RungOptions options() const { return {file, config}; }
  [[nodiscard]] bool exact() const { return options().exact(); }
  [[nodiscard]] std::string group() const { return rung_group(file.word); }
};

FinishedRung look_at(const FinishedFile& finished, const Catalogue& catalogue) {
  const DataFile file(finished.path);
  const FileKind kind = kind_of(file);
  if (kind == FileKind::sweep)
    throw InputError(finished.path + " is a sweep, but the other files are not");
  if (kind != FileKind::run)
    throw InputError(finished.path + " is a comparison; --from needs files of runs");
  FinishedRung rung{finished, recorded_config(file, catalogue), {}};
  // Uses the planned times, because a flow that stopped early has its last time among those in the
  // file.
  rung.times = blaming_file(finished.path, [&] {
    const Parameters& options = rung.config.options;
    return make_schedule(options, options.real("t-end"), step_length(mode_plan(options)));
  });
  const std::string status = file.text_attribute("", "status").value_or("");
  if (is_unfinished(status))
    throw InputError(finished.path + " is not finished (" + status + "); 'resume' completes it");
  if (file.has_dataset("run")) rung.runs = file.length("run");
  const SystemInfo& system = catalogue.info(rung.config.system);
  require_rung(finished, rung.config, system);
  require_complete(StoredFile(finished.path));
  return rung;
}

// ---- checks that the files belong together

void require_same_problem(const FinishedRung& first, const FinishedRung& other) {
  const StoredFile a(first.file.path), b(other.file.path);
  const std::vector<PlacedVariable> its = variables_of(b.layout());
  for (const PlacedVariable& variable : variables_of(a.layout())) {
    if (!variable.path.starts_with("problem/")) continue;
    const auto found = std::find_if(
        its.begin(), its.end(), [&](const PlacedVariable& v) { return v.path == variable.path; });
    if (found == its.end()) continue;  // reductions have only a part of the problem
    if (found->shape == variable.shape && found->variable->type == variable.variable->type &&
        same_numbers(a, {variable.path}, b, {variable.path}, variable.count(),
                     variable.variable->type, throw_if_interrupted))
      continue;
    throw InputError("the problems differ: '" + variable.path + "' of " + other.file.name() +
                     " differs from that of " + first.file.name());
  }
}

void require_same_times(const FinishedRung& first, const FinishedRung& other) {
  constexpr const char* kTimes = "times (--save-at, or --saves and --t-end)";
  if (first.times.size() != other.times.size())
    throw differ(first.file, other.file, "their number of save times",
                 std::to_string(first.times.size()), std::to_string(other.times.size()), kTimes);
  for (std::size_t i = 0; i < first.times.size(); ++i)
    if (!(std::abs(first.times[i] - other.times[i]) <= kSameTime * std::abs(first.times.back())))
      throw differ(first.file, other.file, "save time " + std::to_string(i),
                   shortest(first.times[i]), shortest(other.times[i]), kTimes);
}

/// Returns a warning about shared random numbers, which runs with the same seed and number have.
std::string shared_numbers(const std::vector<FinishedRung>& rungs) {
  std::vector<RungOptions> all;
  all.reserve(rungs.size());
  for (const FinishedRung& rung : rungs) all.push_back(rung.options());
  return shared_numbers_warning(all, [&](std::size_t i, std::size_t j) {
    const Parameters &a = rungs[i].config.options, &b = rungs[j].config.options;
    const std::int64_t from = std::max(a.integer("first-run"), b.integer("first-run"));
    const std::int64_t to = std::min(a.integer("first-run") + a.integer("runs"),
                                     b.integer("first-run") + b.integer("runs"));
    return a.integer("seed") == b.integer("seed") && from < to;
  });
}

std::vector<FinishedRung> look_at_all(const std::vector<FinishedFile>& files,
                                      const Catalogue& catalogue) {
  std::vector<FinishedRung> rungs;
  rungs.reserve(files.size());
  for (const FinishedFile& file : files) rungs.push_back(look_at(file, catalogue));
  const FinishedRung& first = rungs.front();
  const SystemInfo& system = catalogue.info(first.config.system);
  for (const FinishedRung& other : rungs)
    if (other.config.system != first.config.system)
      throw differ(first.file, other.file, "the system", first.config.system, other.config.system,
                   "system");
  for (const FinishedRung& other : rungs) {
    require_same_times(first, other);
    require_same_options(first.options(), other.options(), system);
    require_same_options(noisy_one(rungs).options(), other.options(), system);
    if (&other != &first) require_same_problem(first, other);
  }
  return rungs;
}

// ---- the comparison's file

/// Compared rungs: files of popflow's own, and after them the external ones.
struct Compared {
  std::vector<FinishedRung> rungs;
  std::vector<Trajectories> given;
  SystemInfo system;  ///< with the observables that are compared
  std::vector<Subject> happenings = {};
  CommonTimes common = {};

  [[nodiscard]] std::size_t size() const { return rungs.size() + given.size(); }
  [[nodiscard]] std::vector<std::string> words() const {
    std::vector<std::string> words;
    for (const FinishedRung& rung : rungs) words.push_back(rung.file.word);
    for (const Trajectories& of : given) words.push_back(of.file.word);
    return words;
  }
  [[nodiscard]] std::vector<TimesOf> times() const {
    std::vector<TimesOf> times;
    for (const FinishedRung& rung : rungs) times.push_back({rung.file.name(), rung.times});
    for (const Trajectories& of : given) times.push_back({of.file.name(), of.times});
    return times;
  }
};

/// Adds the times, and the observables that the files call invariants.
ComparisonOptions with_files(ComparisonOptions options, const Compared& compared) {
  if (!compared.rungs.empty()) {
    const DataFile first(compared.rungs.front().file.path);
    for (const ObservableInfo& info : compared.system.observables)
      if (first.text_attribute(info.name, "invariant")) options.invariants.push_back(info.name);
  }
  add_quadrature_errors(options.invariants);
  options.times = compared.common.times;
  if (is_estimated(compared.system))
    for (const FinishedRung& rung : compared.rungs)
      options.fresh.push_back(rung.config.options.word("mode") == "sgd");
  return options;
}

/// Returns the events to compare. Events of external files count only if popflow's files have them,
/// too: a rung that does not look for an event has not missed it.
std::vector<Subject> happenings_in_files(const Compared& compared) {
  std::vector<Subject> all;
  for (const FinishedRung& rung : compared.rungs)
    all = together(std::move(all), happenings_in(DataFile(rung.file.path)));
  return compared.rungs.empty() ? together({}, happenings_of(compared.given)) : all;
}

/// Identifies the random numbers of a rung, which runs of one mode, seed and number share.
std::string numbers_of(const FinishedRung& rung) {
  if (rung.exact()) return "";
  const Parameters& options = rung.config.options;
  return text::join({options.word("mode"), options.text("seed"), options.text("first-run")}, " ");
}

/// Returns the options of the comparison, with the values determined by the files.
RunConfig settled(const Parameters& options, const Compared& compared,
                  const std::string& command_line) {
  RunConfig config{
      compared.system.name, options,
      compared.rungs.empty() ? Parameters(ParameterTable()) : compared.rungs.front().config.own,
      command_line};
  std::vector<std::string> files;
  const auto add = [&](const FinishedFile& file) {
    const std::string path = std::filesystem::absolute(file.path).lexically_normal().string();
    files.push_back(file.word + "=" + text::escaped(path, ','));
  };
  for (const FinishedRung& rung : compared.rungs) add(rung.file);
  for (const Trajectories& of : compared.given) add(of.file);
  config.options.resolve("rungs", text::join(compared.words(), ","));
  config.options.resolve("from", text::join(files, ","));
  if (compared.rungs.empty()) return config;
  const Parameters& noisy = noisy_one(compared.rungs).config.options;
  for (const char* name : {"learning-rate", "batch-size", "t-end", "problem-seed"})
    config.options.resolve(name, noisy.value(name));
  return config;
}

GroupSpec layout_of(const Compared& compared, const RunConfig& config, unsigned threads) {
  GroupSpec root;
  std::vector<std::string> groups;
  for (const FinishedRung& rung : compared.rungs) {
    groups.push_back(rung.group());
    GroupSpec group = StoredFile(rung.file.path).layout();
    group.name = rung.group();
    group.attributes.push_back({"rung", rung.file.word});
    root.groups.push_back(std::move(group));
  }
  for (const Trajectories& of : compared.given) {
    root.groups.push_back(trajectories_group(of, compared.system));
    groups.push_back(root.groups.back().name);
  }
  const Parameters& options = config.options;
  root.groups.push_back(
      comparison_group(compared.system, compared.words(), options.real("learning-rate"),
                       with_files(comparison_options(options), compared), compared.happenings));
  mark_trajectories(root.groups.back(), compared.given, compared.system);
  root.attributes =
      file_attributes(compared.system, "comparison: " + compared.system.title, "compare", config);
  // Nothing is run, so the file gets its final name only when it is complete.
  *find_attribute(root, "status") = {"status", status_word(Status::complete), 16};
  *find_attribute(root, "status_message") = {"status_message",
                                             std::string("all rungs were compared"), 512};
  root.attributes.insert(root.attributes.end(), {{"rungs", joined(compared.words())},
                                                 {"settings", std::int64_t{1}},
                                                 {"run_groups", joined(groups)}});
  if (!compared.rungs.empty()) root.attributes.push_back({"problem", groups.front() + "/problem"});
  root.groups.push_back(parameters_group(config));
  root.groups.push_back(provenance_group(threads, compared.system));
  return root;
}

void copy_rung(const FinishedRung& rung, TrajectoryFile& file) {
  const StoredFile from(rung.file.path);
  for (const PlacedVariable& variable : variables_of(from.layout()))
    copy_numbers(from, {variable.path}, file, {join(rung.group(), variable.path)}, variable.count(),
                 variable.variable->type, throw_if_interrupted);
}

/// Compares one observable at a time, because the observables of all runs may not fit in memory
/// together.
void compare_all(const Compared& compared, const ComparisonOptions& given, TrajectoryFile& file,
                 Workers& workers, Screen& screen) {
  const ComparisonOptions options = with_files(given, compared);
  const SystemInfo& system = compared.system;
  const TrajectoryGroup group(file, "comparison");
  std::vector<DataFile> files;
  std::vector<RungRuns> runs;
  std::vector<RungPaths> starts;
  RungNumbers numbers;
  std::vector<std::vector<FirstTimes>> times;
  const auto counted = [&](std::size_t of_rung, std::size_t left_out, bool exact) {
    write_runs(group, numbers.divergences.size(), of_rung, left_out);
    numbers.divergences.push_back({left_out, of_rung, exact});
  };
  for (const FinishedRung& rung : compared.rungs) {
    files.emplace_back(rung.file.path);
    runs.push_back(read_runs(files.back(), rung.runs, rung.exact(), rung.times));
    counted(rung.runs, runs.back().left_out(), rung.exact());
    times.push_back(
        read_first_times(files.back(), compared.happenings, runs.back(), rung.times.back()));
    for (FirstTimes& of : times.back()) {
      of.numbers = numbers_of(rung);
      if (!compared.given.empty()) cut_at(options.times.back(), of);
    }
  }
  for (const Trajectories& of : compared.given) {
    counted(of.runs, 0, of.exact);
    times.push_back(of.paths({}, {}, compared.happenings, options.times.back()).happenings);
  }
  const auto paths_of = [&](std::size_t observable, std::size_t r) {
    const std::string& name = system.observables[observable].name;
    const std::vector<std::size_t>& columns = compared.common.columns[r];
    if (r >= compared.rungs.size())
      return compared.given[r - compared.rungs.size()]
          .paths({name}, columns, {}, 0)
          .observables.front();
    Paths whole = read_observable(files[r], name, runs[r], compared.rungs[r].times);
    return columns.size() == whole.times ? whole : at_columns(whole, columns);
  };
  if (!compared.given.empty()) {
    std::vector<std::string> names;
    for (const TimesOf& rung : compared.times()) names.push_back(rung.name);
    for (std::size_t r = 0; r < compared.size(); ++r) {
      RungPaths& start = starts.emplace_back();
      for (std::size_t o = 0; o < system.observables.size(); ++o)
        start.observables.push_back(
            at_columns(paths_of(o, r), {0, compared.common.times.size() - 1}));
    }
    for (const std::string& warning :
         start_warnings(names, compared.rungs.size(), compared.common, system, starts))
      screen.warning(warning);
  }
  std::vector<Paths> paths;
  numbers.paths = [&](std::size_t observable) {
    throw_if_interrupted();
    paths.clear();
    for (std::size_t r = 0; r < compared.size(); ++r) paths.push_back(paths_of(observable, r));
    return pointers_to(paths);
  };
  numbers.first_times = [&](std::size_t happening) {
    std::vector<FirstTimes> of_rungs;
    of_rungs.reserve(times.size());
    for (const std::vector<FirstTimes>& rung : times) of_rungs.push_back(rung[happening]);
    return of_rungs;
  };
  std::size_t done = 0;
  write_statements(group, judge_all(numbers, system, compared.happenings, options, workers,
                                    [&](const ObservableComparison& one) {
                                      write_observable(group, one);
                                      screen.progress(
                                          static_cast<double>(++done) /
                                              static_cast<double>(system.observables.size()),
                                          one.name);
                                    }));
}

/// Finished runs that belong together.
class Runs : public FinishedRungs {
 public:
  explicit Runs(Compared compared) : compared_(std::move(compared)) {}

  [[nodiscard]] std::string shared_numbers() const override {
    return popflow::shared_numbers(compared_.rungs);
  }
  [[nodiscard]] GroupSpec layout(const Parameters& options, const std::string& command_line,
                                 unsigned threads) const override {
    return layout_of(compared_, settled(options, compared_, command_line), threads);
  }
  void compare(const ComparisonOptions& options, TrajectoryFile& file, Workers& workers,
               Screen& screen) const override {
    for (const FinishedRung& rung : compared_.rungs) copy_rung(rung, file);
    compare_all(compared_, options, file, workers, screen);
  }

 private:
  Compared compared_;
};

}  // namespace

std::unique_ptr<FinishedRungs> finished_runs(const std::vector<FinishedFile>& files,
                                             std::optional<double> learning_rate,
                                             const Catalogue& catalogue, Screen& screen) {
  std::vector<FinishedFile> own, of_others;
  for (const FinishedFile& file : files) (is_external(file.path) ? of_others : own).push_back(file);
  Compared compared{
      own.empty() ? std::vector<FinishedRung>() : look_at_all(own, catalogue), {}, {}};
  std::optional<SystemInfo> recorded;
  if (!own.empty()) {
    const RunConfig& first = compared.rungs.front().config;
    recorded = recorded_by_all(own, catalogue.info(first.system), first.options);
  }
  const SystemInfo* const system = recorded ? &*recorded : nullptr;
  if (system != nullptr && !learning_rate)
    learning_rate = noisy_one(compared.rungs).config.options.real("learning-rate");
  for (const FinishedFile& file : of_others)
    compared.given.push_back(read_trajectories(file, system, learning_rate));
  if (of_others.empty())
    compared.system = recorded.value();
  else
    compared.system = system == nullptr ? system_of(compared.given)
                                        : with_observables_of(*system, compared.given);
  const std::vector<TimesOf> times = compared.times();
  // The times of popflow's own files are the same up to the rounding of steps.
  if (of_others.empty()) {
    compared.common.times = compared.rungs.front().times;
    std::vector<std::size_t> all(compared.common.times.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    compared.common.columns.assign(compared.rungs.size(), all);
  } else {
    compared.common = common_times(times);
    screen.message(common_times_note(compared.common, times));
    for (const std::string& said : left_out_notes(system == nullptr ? compared.system : *system,
                                                  compared.system, compared.given))
      screen.message(said);
  }
  compared.happenings = happenings_in_files(compared);
  return std::make_unique<Runs>(std::move(compared));
}

}  // namespace popflow
