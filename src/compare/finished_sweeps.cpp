#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "compare/comparison.hpp"
#include "compare/estimate.hpp"
#include "compare/finished.hpp"
#include "compare/verdict_maps.hpp"
#include "compare/when.hpp"
#include "engine/interrupt.hpp"
#include "engine/specs.hpp"
#include "engine/status.hpp"
#include "file/stored_file.hpp"
#include "file/trajectory_file.hpp"
#include "options/run_config.hpp"
#include "popflow/data_file.hpp"
#include "run/experiment.hpp"
#include "sweep/cells.hpp"
#include "sweep/layout.hpp"
#include "sweep/sweep.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// A finished sweep of one rung.
struct SweptRung {
  FinishedFile of;
  std::unique_ptr<Cells> cells;
  std::unique_ptr<DataFile> file;
  std::size_t runs = 1;
  std::size_t saves = 0;

  [[nodiscard]] RungOptions options() const {
    return {of, cells->base(), [this](const std::string& option) { return cells->sweeps(option); }};
  }
  [[nodiscard]] bool exact() const { return !cells->noisy(); }
  [[nodiscard]] std::string name() const { return of.name(); }
};

SweptRung look_at(const FinishedFile& finished, const Catalogue& catalogue,
                  const SystemInfo& system) {
  SweptRung rung{finished, nullptr, std::make_unique<DataFile>(finished.path)};
  if (kind_of(*rung.file) != FileKind::sweep)
    throw InputError(finished.path + " is not a sweep, but the other file is");
  rung.cells = std::make_unique<Cells>(sweep_config(*rung.file, catalogue));
  const Cells& cells = *rung.cells;
  const Parameters& options = cells.sweep().options;
  if (!cells.shard().whole())
    throw InputError(finished.path + " is a shard; 'merge' joins the shards of a sweep");
  if (options.word("record") != "series" || options.has("reduce"))
    throw InputError(finished.path +
                     " lacks the times of every run; a comparison needs sweeps that were run with "
                     "--record series and without --reduce");
  require_rung(finished, cells.config(0), system);
  rung.runs = static_cast<std::size_t>(cells.runs());
  rung.saves = rung.file->length(rung.file->has_dataset("save") ? "save" : "time");
  return rung;
}

void require_same_axes(const SweptRung& first, const SweptRung& other) {
  const std::vector<Axis>&ours = first.cells->axes(), &its = other.cells->axes();
  const bool same = std::equal(
      ours.begin(), ours.end(), its.begin(), its.end(),
      [](const Axis& a, const Axis& b) { return same_parameters(a, b) && same_values(a, b); });
  if (!same)
    throw InputError("the axes of " + other.name() + " and " + first.name() +
                     " differ; sweeps are compared cell by cell, so they need the same axes and "
                     "values (an axis may have no effect on one of the rungs)");
  if (first.saves != other.saves)
    throw InputError(other.name() + " has " + std::to_string(other.saves) + " saves, but " +
                     first.name() + " has " + std::to_string(first.saves));
}

/// Returns a warning about shared random numbers, which cells with the same seed have.
std::string shared_numbers(const std::vector<SweptRung>& rungs) {
  std::vector<RungOptions> all;
  all.reserve(rungs.size());
  for (const SweptRung& rung : rungs) all.push_back(rung.options());
  return shared_numbers_warning(all, [&](std::size_t i, std::size_t j) {
    const Parameters &a = all[i].config.options, &b = all[j].config.options;
    return a.integer("seed") == b.integer("seed") || rungs[i].cells->sweeps("seed");
  });
}

/// Returns the indices of a cell on the axes, which are the leading indices in the file.
std::vector<std::size_t> places_in_file(const SweptRung& rung, std::uint64_t cell) {
  return rung.cells->places(cell);
}

void require_size(const SweptRung& rung, const std::string& name, std::size_t size,
                  std::size_t wanted) {
  if (size == wanted) return;
  throw InputError("'" + rung.of.path + "' is damaged: " + name + " has " + std::to_string(size) +
                   " elements in a cell, not " + std::to_string(wanted));
}

std::vector<double> times_of(const SweptRung& rung, std::uint64_t cell) {
  std::vector<double> times = rung.file->has_dataset("save")
                                  ? rung.file->read_slab("time", places_in_file(rung, cell))
                                  : rung.file->read("time").values;
  require_size(rung, "time", times.size(), rung.saves);
  return times;
}

RungRuns runs_of(const SweptRung& rung, const std::vector<std::int64_t>& status,
                 std::uint64_t cell) {
  RungRuns runs{rung.exact(), std::vector<bool>(rung.runs, false),
                rung.file->read_slab("stop_time", places_in_file(rung, cell))};
  require_size(rung, "stop_time", runs.stop.size(), rung.runs);
  for (std::size_t run = 0; run < rung.runs; ++run)
    runs.diverged[run] = is(status[cell * rung.runs + run], Status::diverged);
  return runs;
}

Paths paths_of(const SweptRung& rung, const std::string& name, const RungRuns& runs,
               const std::vector<double>& times, std::uint64_t cell) {
  std::vector<double> all = rung.file->read_slab(name, places_in_file(rung, cell));
  require_size(rung, name, all.size(), rung.runs * rung.saves);
  return runs.paths(std::move(all), times);
}

/// Returns the first-passage times of an event in the runs of a cell.
std::vector<double> times_of_event(const SweptRung& rung, const std::string& event,
                                   std::uint64_t cell) {
  std::vector<double> times = rung.file->read_slab("time_of_" + event, places_in_file(rung, cell));
  require_size(rung, "time_of_" + event, times.size(), rung.runs);
  return times;
}

/// Returns whether every run of the cell has a final status.
bool is_finished(const SweptRung& rung, const std::vector<std::int64_t>& status,
                 std::uint64_t cell) {
  for (std::size_t run = 0; run < rung.runs; ++run) {
    const auto word = static_cast<Status>(status[cell * rung.runs + run]);
    if (word == Status::missing || word == Status::refused) return false;
  }
  return true;
}

/// Returns the observables that have no verdicts: invariants, and the error of quadrature.
std::vector<std::string> invariant_observables(const SystemInfo& system) {
  std::vector<std::string> names;
  for (const InvariantInfo& invariant : system.invariants) names.push_back(invariant.observable);
  add_quadrature_errors(names);
  return names;
}

GroupSpec layout_of(const std::vector<SweptRung>& rungs, const RunConfig& config,
                    const SystemInfo& system, unsigned threads) {
  GroupSpec root;
  const Cells& cells = *rungs.front().cells;
  std::vector<std::string> words, files;
  for (const SweptRung& rung : rungs) {
    words.push_back(rung.of.word);
    files.push_back(std::filesystem::absolute(rung.of.path).lexically_normal().string());
  }
  root.attributes =
      file_attributes(system, "comparison of sweeps: " + system.title, "compare", config);
  *find_attribute(root, "status") = {"status", std::string("complete"), 16};
  *find_attribute(root, "status_message") = {"status_message",
                                             std::string("all cells were compared"), 512};
  std::vector<std::string> names;
  for (const Axis& axis : cells.axes()) names.push_back(axis.dimension);
  root.attributes.insert(root.attributes.end(),
                         {{"rungs", joined(words)},
                          {"files", text::join(files, "\n")},
                          {"axes", joined(names)},
                          {"delta", config.options.real("delta")},
                          {"delta_time", config.options.real("delta-time")},
                          {"delta_share", config.options.real("delta-share")},
                          {"delta_factor", config.options.real("delta-factor")},
                          {"level", config.options.real("level")}});
  add_axes(root, cells);
  add_verdict_maps(root, cell_dimensions(cells), rungs.size(), system,
                   invariant_observables(system));
  root.groups = {parameters_group(config), provenance_group(threads, system)};
  return root;
}

/// Compares one cell and writes the result.
class CellComparison {
 public:
  CellComparison(const std::vector<SweptRung>& rungs, const SystemInfo& system,
                 const ComparisonOptions& options, TrajectoryFile& file)
      : rungs_(rungs), system_(system), options_(options), file_(file) {
    for (const SweptRung& rung : rungs)
      status_.push_back(
          rung.file->integers("status", static_cast<std::size_t>(rung.cells->size()) * rung.runs));
  }

  void operator()(std::uint64_t cell) {
    for (std::size_t r = 0; r < rungs_.size(); ++r)
      if (!is_finished(rungs_[r], status_[r], cell)) return;
    const std::vector<double> times = times_of(rungs_.front(), cell);
    require_same_times(cell, times);
    Workers alone(1);
    std::vector<RungRuns> runs;
    for (std::size_t r = 0; r < rungs_.size(); ++r)
      runs.push_back(runs_of(rungs_[r], status_[r], cell));
    const std::size_t pairs = pairs_of(rungs_.size()).size();
    ComparisonOptions options = options_;
    options.times = times;
    RungNumbers numbers;
    for (std::size_t r = 0; r < rungs_.size(); ++r)
      numbers.divergences.push_back({runs[r].left_out(), rungs_[r].runs, rungs_[r].exact()});
    std::vector<Paths> paths;
    numbers.paths = [&](std::size_t observable) {
      paths.clear();
      for (std::size_t r = 0; r < rungs_.size(); ++r)
        paths.push_back(
            paths_of(rungs_[r], system_.observables[observable].name, runs[r], times, cell));
      return pointers_to(paths);
    };
    numbers.first_times = [&](std::size_t event) {
      std::vector<FirstTimes> first;
      for (std::size_t r = 0; r < rungs_.size(); ++r)
        first.push_back(popflow::first_times(
            times_of_event(rungs_[r], system_.events[event].name, cell), runs[r], times.back()));
      return first;
    };
    std::vector<Subject> happenings;
    for (const EventInfo& event : system_.events) happenings.push_back({event.name});
    const std::vector<Statement> statements =
        judge_all(numbers, system_, happenings, options, alone,
                  [&](const ObservableComparison& one) { write_differences(file_, cell, one); });
    write_verdicts(file_, cell, statements);
    write_verdicts(file_, cell, together_of(statements, pairs));
  }

 private:
  /// Returns the worst verdict of each pair. An observable that does not move has no margin; it
  /// counts only if no observable moves.
  static std::vector<Verdict::Kind> together_of(const std::vector<Statement>& statements,
                                                std::size_t pairs) {
    std::vector<std::optional<Verdict::Kind>> moving(pairs), still(pairs);
    for (std::size_t p = 0; p < pairs; ++p) {
      bool moves = true;
      for (const Statement& statement : statements) {
        const Judgement& of = statement.pairs[p];
        // The row on the depth of an observable follows the row on its range.
        if (statement.question != Question::depth) moves = !std::isnan(of.margin);
        if (!of.judged) continue;
        auto& all = moves ? moving[p] : still[p];
        all = worse(all.value_or(Verdict::Kind::agree), of.verdict.kind);
      }
    }
    std::vector<Verdict::Kind> verdicts(pairs);
    for (std::size_t p = 0; p < pairs; ++p)
      verdicts[p] = (moving[p] ? moving[p] : still[p]).value_or(Verdict::Kind::undecided);
    return verdicts;
  }
  static Verdict::Kind worse(Verdict::Kind a, Verdict::Kind b) {
    if (a == Verdict::Kind::differ || b == Verdict::Kind::differ) return Verdict::Kind::differ;
    return a == Verdict::Kind::agree ? b : a;
  }

  void require_same_times(std::uint64_t cell, const std::vector<double>& ours) const {
    for (const SweptRung& rung : rungs_) {
      const std::vector<double> its = times_of(rung, cell);
      for (std::size_t i = 0; i < ours.size(); ++i)
        if (!(std::abs(ours[i] - its[i]) <= kSameTime * std::abs(ours.back())))
          throw InputError("save " + std::to_string(i) + " of the cell " +
                           rung.cells->describe(cell) + " is at t = " + shortest(its[i]) + " in " +
                           rung.name() + ", but at " + shortest(ours[i]) + " in " +
                           rungs_.front().name() +
                           "; compared sweeps must have the same times (whole multiples of every "
                           "learning rate, if steps are counted)");
    }
  }

  const std::vector<SweptRung>& rungs_;
  const SystemInfo& system_;
  ComparisonOptions options_;
  TrajectoryFile& file_;
  std::vector<std::vector<std::int64_t>> status_;
};

/// Finished sweeps that belong together.
class Sweeps : public FinishedRungs {
 public:
  Sweeps(std::vector<SweptRung> rungs, SystemInfo system)
      : rungs_(std::move(rungs)), system_(std::move(system)) {}

  [[nodiscard]] std::string shared_numbers() const override {
    return popflow::shared_numbers(rungs_);
  }
  [[nodiscard]] GroupSpec layout(const Parameters& options, const std::string& command_line,
                                 unsigned threads) const override {
    const Cells& cells = *rungs_.front().cells;
    return layout_of(rungs_, {cells.sweep().system, options, cells.base().own, command_line},
                     system_, threads);
  }
  void compare(const ComparisonOptions& options, TrajectoryFile& file, Workers& workers,
               Screen& screen) const override {
    ComparisonOptions settled = options;
    settled.invariants = invariant_observables(system_);
    if (is_estimated(system_))
      for (const SweptRung& rung : rungs_)
        settled.fresh.push_back(rung.cells->sweep().options.word("mode") == "sgd");
    CellComparison compare_cell(rungs_, system_, settled, file);
    const std::uint64_t cells = rungs_.front().cells->whole();
    std::atomic<std::uint64_t> done = 0;
    std::mutex mutex;
    workers.run(static_cast<std::size_t>(cells), [&](std::size_t cell) {
      throw_if_interrupted();
      compare_cell(cell);
      const std::uint64_t now = ++done;
      if (const std::unique_lock lock(mutex, std::try_to_lock); lock)
        screen.progress(static_cast<double>(now) / static_cast<double>(cells),
                        std::to_string(now) + " of " + std::to_string(cells) + " cells");
    });
  }

 private:
  std::vector<SweptRung> rungs_;
  SystemInfo system_;  ///< with the observables that are compared
};

}  // namespace

std::unique_ptr<FinishedRungs> finished_sweeps(const std::vector<FinishedFile>& files,
                                               const Catalogue& catalogue) {
  const std::string name = DataFile(files.front().path).text_attribute("", "system").value_or("");
  const SystemInfo& system = catalogue.info(name);
  std::vector<SweptRung> rungs;
  rungs.reserve(files.size());
  for (const FinishedFile& file : files) rungs.push_back(look_at(file, catalogue, system));
  for (const SweptRung& other : rungs)
    if (other.cells->sweep().system != name)
      throw differ(rungs.front().of, other.of, "the system", name, other.cells->sweep().system,
                   "system");
  for (const SweptRung& other : rungs) {
    require_same_axes(rungs.front(), other);
    require_same_options(rungs.front().options(), other.options(), system);
    require_same_options(noisy_one(rungs).options(), other.options(), system);
  }
  SystemInfo compared = recorded_by_all(files, system, rungs.front().cells->sweep().options);
  return std::make_unique<Sweeps>(std::move(rungs), std::move(compared));
}

}  // namespace popflow
