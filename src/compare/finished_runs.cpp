#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "compare/comparison.hpp"
#include "compare/finished.hpp"
#include "compare/rungs.hpp"
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

/// A finished file of a run, with its contents.
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
    throw InputError(finished.path + " is the file of a sweep, and the others are not");
  if (kind != FileKind::run)
    throw InputError(finished.path + " is a comparison; --from takes files of runs");
  FinishedRung rung{finished, recorded_config(file, catalogue), {}};
  // The planned times: a flow that stopped early has its last time among those in the file.
  rung.times = blaming_file(finished.path, [&] {
    const Parameters& options = rung.config.options;
    return make_schedule(options, options.real("t-end"), step_length(mode_plan(options)));
  });
  const std::string status = file.text_attribute("", "status").value_or("");
  if (is_unfinished(status))
    throw InputError(finished.path + " is not finished (" + status + "); 'resume' goes on with it");
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
    if (found == its.end()) continue;  // reductions need only a part of the problem
    if (found->shape == variable.shape && found->variable->type == variable.variable->type &&
        same_numbers(a, {variable.path}, b, {variable.path}, variable.count(),
                     variable.variable->type, look_for_signals))
      continue;
    throw InputError("the problems differ: '" + variable.path + "' of " + other.file.name() +
                     " is not that of " + first.file.name());
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

/// Runs with the same seed and number share their random numbers.
std::string shared_numbers(const std::vector<FinishedRung>& rungs) {
  std::vector<RungOptions> all;
  for (const FinishedRung& rung : rungs) all.push_back(rung.options());
  return said_of_shared_numbers(all, [&](std::size_t i, std::size_t j) {
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

/// Adds the save times, and the observables that the files call invariants.
ComparisonOptions with_files(ComparisonOptions options, const std::vector<FinishedRung>& rungs,
                             const SystemInfo& system) {
  const DataFile first(rungs.front().file.path);
  for (const ObservableInfo& info : system.observables)
    if (first.text_attribute(info.name, "invariant")) options.invariants.push_back(info.name);
  options.times = rungs.front().times;
  return options;
}

std::vector<Subject> happenings_of(const std::vector<FinishedRung>& rungs) {
  std::vector<Subject> all;
  for (const FinishedRung& rung : rungs)
    all = together(std::move(all), happenings_in(DataFile(rung.file.path)));
  return all;
}

/// Runs of one mode, seed and number share their random numbers.
std::string numbers_of(const FinishedRung& rung) {
  if (rung.exact()) return "";
  const Parameters& options = rung.config.options;
  return text::join({options.word("mode"), options.text("seed"), options.text("first-run")}, " ");
}

/// Options of the comparison, with the values determined by the files.
RunConfig settled(const Parameters& options, const std::vector<FinishedRung>& rungs,
                  const std::string& command_line) {
  RunConfig config{rungs.front().config.system, options, rungs.front().config.own, command_line};
  std::string words, files;
  for (const FinishedRung& rung : rungs) {
    words += (words.empty() ? "" : ",") + rung.file.word;
    const std::string path = std::filesystem::absolute(rung.file.path).lexically_normal().string();
    files += (files.empty() ? "" : ",") + rung.file.word + "=" + text::escaped(path, ',');
  }
  config.options.resolve("rungs", words);
  config.options.resolve("from", files);
  const Parameters& noisy = noisy_one(rungs).config.options;
  for (const char* name : {"learning-rate", "batch-size", "t-end", "problem-seed"})
    config.options.resolve(name, noisy.value(name));
  return config;
}

GroupSpec layout_of(const std::vector<FinishedRung>& rungs, const RunConfig& config,
                    const SystemInfo& system, unsigned threads) {
  GroupSpec root;
  std::vector<std::string> words, groups;
  for (const FinishedRung& rung : rungs) {
    words.push_back(rung.file.word);
    groups.push_back(rung.group());
    GroupSpec group = StoredFile(rung.file.path).layout();
    group.name = rung.group();
    group.attributes.push_back({"rung", rung.file.word});
    root.groups.push_back(std::move(group));
  }
  const Parameters& options = config.options;
  root.groups.push_back(comparison_group(system, words, options.real("learning-rate"),
                                         with_files(comparison_options(options), rungs, system),
                                         happenings_of(rungs)));
  root.attributes = file_attributes(system, "comparison: " + system.title, "compare", config);
  // Nothing is run, so the file gets its final name only when complete.
  *find_attribute(root, "status") = {"status", status_word(Status::complete), 16};
  *find_attribute(root, "status_message") = {"status_message",
                                             std::string("all rungs were compared"), 512};
  root.attributes.insert(root.attributes.end(), {{"rungs", joined(words)},
                                                 {"settings", std::int64_t{1}},
                                                 {"run_groups", joined(groups)},
                                                 {"problem", groups.front() + "/problem"}});
  root.groups.push_back(parameters_group(config));
  root.groups.push_back(provenance_group(threads, system));
  return root;
}

void copy_rung(const FinishedRung& rung, TrajectoryFile& file) {
  const StoredFile from(rung.file.path);
  for (const PlacedVariable& variable : variables_of(from.layout()))
    copy_numbers(from, {variable.path}, file, {join(rung.group(), variable.path)}, variable.count(),
                 variable.variable->type, look_for_signals);
}

/// One observable at a time: all runs' observables together may not fit in memory.
void compare_all(const std::vector<FinishedRung>& rungs, const SystemInfo& system,
                 const ComparisonOptions& given, TrajectoryFile& file, Workers& workers,
                 Screen& screen) {
  const ComparisonOptions options = with_files(given, rungs, system);
  const TrajectoryGroup group(file, "comparison");
  std::vector<DataFile> files;
  std::vector<RungRuns> runs;
  for (const FinishedRung& rung : rungs) {
    files.emplace_back(rung.file.path);
    runs.push_back(read_runs(files.back(), rung.runs, rung.exact(), rung.times));
    write_runs(group, runs.size() - 1, rung.runs, runs.back().left_out());
  }
  const std::vector<Subject> happenings = happenings_of(rungs);
  RungNumbers numbers;
  std::vector<std::vector<FirstTimes>> times;
  for (std::size_t r = 0; r < rungs.size(); ++r) {
    times.push_back(read_first_times(files[r], happenings, runs[r], options.times.back()));
    for (FirstTimes& of : times.back()) of.numbers = numbers_of(rungs[r]);
    numbers.divergences.push_back({runs[r].left_out(), rungs[r].runs, rungs[r].exact()});
  }
  std::vector<Paths> paths;
  numbers.paths = [&](std::size_t observable) {
    look_for_signals();
    paths.clear();
    for (std::size_t r = 0; r < rungs.size(); ++r)
      paths.push_back(
          read_observable(files[r], system.observables[observable].name, runs[r], rungs[r].times));
    return pointers_to(paths);
  };
  numbers.first_times = [&](std::size_t happening) {
    std::vector<FirstTimes> of_rungs;
    for (const std::vector<FirstTimes>& rung : times) of_rungs.push_back(rung[happening]);
    return of_rungs;
  };
  std::size_t done = 0;
  write_statements(group, judge_all(numbers, system, happenings, options, workers,
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
  Runs(std::vector<FinishedRung> rungs, const SystemInfo& system)
      : rungs_(std::move(rungs)), system_(system) {}

  [[nodiscard]] std::string shared_numbers() const override {
    return popflow::shared_numbers(rungs_);
  }
  [[nodiscard]] GroupSpec layout(const Parameters& options, const std::string& command_line,
                                 unsigned threads) const override {
    return layout_of(rungs_, settled(options, rungs_, command_line), system_, threads);
  }
  void compare(const ComparisonOptions& options, TrajectoryFile& file, Workers& workers,
               Screen& screen) const override {
    for (const FinishedRung& rung : rungs_) copy_rung(rung, file);
    compare_all(rungs_, system_, options, file, workers, screen);
  }

 private:
  std::vector<FinishedRung> rungs_;
  const SystemInfo& system_;
};

}  // namespace

std::unique_ptr<FinishedRungs> finished_runs(const std::vector<FinishedFile>& files,
                                             const Catalogue& catalogue) {
  std::vector<FinishedRung> rungs = look_at_all(files, catalogue);
  const SystemInfo& system = catalogue.info(rungs.front().config.system);
  return std::make_unique<Runs>(std::move(rungs), system);
}

}  // namespace popflow
