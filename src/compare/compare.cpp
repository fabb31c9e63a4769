#include "compare/compare.hpp"

#include <algorithm>
#include <sstream>

#include "compare/comparison_plan.hpp"
#include "compare/noise_check.hpp"
#include "compare/report.hpp"
#include "compare/step_effect.hpp"
#include "compare/when.hpp"
#include "engine/distribution.hpp"
#include "engine/interrupt.hpp"
#include "engine/specs.hpp"
#include "engine/status.hpp"
#include "file/axes.hpp"
#include "file/output.hpp"
#include "file/structure.hpp"
#include "options/input_files.hpp"
#include "popflow/memory.hpp"
#include "run/continued_runs.hpp"
#include "run/cost.hpp"
#include "run/ensemble.hpp"
#include "run/last_state.hpp"
#include "run/resume_config.hpp"
#include "text/screen.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

Outcome interrupted() { return {Outcome::Kind::interrupted, 0, "interrupted"}; }

/// Returns the warnings of the rungs' systems, each once; a warning that does not concern all rungs
/// names its rungs.
std::vector<std::string> warnings_of(const std::vector<Rung>& rungs) {
  std::vector<std::pair<std::string, std::vector<std::string>>> found;
  for (const Rung& rung : rungs) {
    for (const Note& note : rung.experiment->system->notes()) {
      if (!note.warning) continue;
      const auto same = std::find_if(found.begin(), found.end(),
                                     [&](const auto& other) { return other.first == note.text; });
      if (same == found.end())
        found.push_back({note.text, {rung.word}});
      else
        same->second.push_back(rung.word);
    }
  }
  std::vector<std::string> warnings;
  warnings.reserve(found.size());
  for (const auto& [text, words] : found)
    warnings.push_back((words.size() == rungs.size() ? "" : text::join(words, ", ") + ": ") + text);
  return warnings;
}

/// Returns a note on the states that a file of `bytes` bytes keeps by default: names the rungs of
/// which only the first and the last state are kept, or says that the states make the file large.
/// Empty if neither holds.
std::string states_note(const std::vector<const Rung*>& rungs, double bytes) {
  constexpr double kLarge = 256.0 * 1024 * 1024;
  std::vector<std::string> cut;
  bool all = false;
  for (const Rung* rung : rungs) {
    const OutputPlan& output = rung->experiment->plan.output;
    if (output.states_were_cut && std::find(cut.begin(), cut.end(), rung->word) == cut.end())
      cut.push_back(rung->word);
    all = all || output.states == StateSaves::all;
  }
  if (!cut.empty()) return cut_states_note(text::join(cut, ", "));
  if (!all || bytes < kLarge) return "";
  return "the file will take " + describe_bytes(bytes) +
         " because it has the states of all runs at all saves; --state ends keeps the first and "
         "the last only and changes no number of the comparison";
}

bool is_done(const DataFile& group) {
  return !is_unfinished(group.text_attribute("", "status").value_or(""));
}

/// Returns whether a rung ended before everything that is compared was recorded.
bool ended_early(const Outcome& outcome) {
  const ExitCode code = exit_code(outcome.kind);
  return code == ExitCode::limit || code == ExitCode::diverged;
}

/// If a rung ended early, records its outcome in `worst`; the first of several settings is kept.
void note_end(const Outcome& outcome, const std::string& rung, Outcome& worst) {
  if (!ended_early(outcome)) return;
  const std::string before = worst.message.empty() ? "" : worst.message + "; ";
  if (("; " + before).find("; " + rung + ": ") != std::string::npos) return;
  if (worst.kind != Outcome::Kind::diverged) worst.kind = outcome.kind;
  worst.message = before + rung + ": " + outcome.message;
}

/// Warns of rungs that ended early; returns the exit code.
ExitCode warn_of_early_end(const Outcome& runs, const std::string& path, Screen& screen) {
  if (!ended_early(runs)) return ExitCode::success;
  screen.warning(path, runs.message + "; the comparison ends there");
  return exit_code(runs.kind);
}

/// Returns the relative work of a run of each rung, for the progress display. A flow takes very
/// little time compared with noisy runs. If its work were counted like theirs, the predicted end
/// would be far too early.
std::vector<double> work_of(const ComparisonPlan& plan) {
  std::vector<double> work;
  bool noisy = false;
  for (const Rung* rung : plan.rungs()) {
    work.insert(work.end(), rung->experiment->plan.ensemble.runs, rung->exact() ? 0 : 1);
    noisy = noisy || !rung->exact();
  }
  if (!noisy) std::fill(work.begin(), work.end(), 1);
  return work;
}

/// Rung as its group in the comparison's file records it; empty in a new file.
struct RecordedRung {
  std::optional<Outcome> ended;             ///< set if nothing is left to do
  std::unique_ptr<RecordedRuns> runs = {};  ///< null for a rung that has not begun
};

/// Returns the recorded state of all rungs, in order.
std::vector<RecordedRung> recorded_rungs_of(const ComparisonPlan& plan, const std::string& path) {
  std::vector<RecordedRung> all;
  for (const Rung* rung : plan.rungs()) {
    const Experiment& experiment = *rung->experiment;
    DataFile before(path, rung->path);
    RecordedRung& recorded = all.emplace_back();
    if (is_done(before))
      recorded.ended = recorded_outcome(before);
    else if (RestartReader(before, *experiment.system)
                 .find(experiment.driver_data, 0, Slots::resumable))
      recorded.runs = std::make_unique<RecordedRuns>(std::move(before), experiment, false);
  }
  return all;
}

/// Returns whether several ranks share the rung's runs.
bool is_shared(const Rung& rung, const RecordedRung& before) {
  return !rung.exact() && !before.ended;
}

/// Runs the rungs that are not finished; called by the first rank. `before` has an entry for each
/// rung.
Outcome run_rungs(const ComparisonPlan& plan, TrajectoryFile& file,
                  const std::vector<RecordedRung>& before, Ranks& ranks, Screen& screen) {
  Outcome worst;
  Progress progress(screen, work_of(plan));
  std::size_t first = 0, number = 0;
  for (const Rung* rung : plan.rungs()) {
    Experiment& experiment = *rung->experiment;
    const std::size_t runs = experiment.plan.ensemble.runs;
    TrajectoryGroup group(file, rung->path);
    const RecordedRung& recorded = before[number++];
    if (recorded.ended) {
      note_end(*recorded.ended, rung->word, worst);
      for (std::size_t run = 0; run < runs; ++run) progress.done(first + run);
      first += runs;
      continue;
    }
    const Provenance provenance;
    if (!recorded.runs) {
      write_starts(experiment, group);
      group.sync();
    }
    Ranks alone;
    const Ending ending = recording_failure(group, [&] {
      return run_all(experiment, group, recorded.runs.get(), progress,
                     is_shared(*rung, recorded) ? ranks : alone, first);
    });
    close_run(group, ending, experiment, provenance);
    if (ending.outcome.kind == Outcome::Kind::interrupted) {
      dismiss(ranks);  // the rung may have been computed by this rank alone
      return ending.outcome;
    }
    note_end(ending.outcome, rung->word, worst);
    first += runs;
  }
  return worst;
}

/// Computes the shares of every rung that the first rank assigns; called by all other ranks.
void compute_for_first_rank(const ComparisonPlan& plan, const std::vector<RecordedRung>& before,
                            Ranks& ranks, Screen& screen) {
  const InterruptGuard guard;
  ranks.agree(nullptr);
  std::size_t number = 0;
  for (const Rung* rung : plan.rungs()) {
    const RecordedRung& recorded = before[number++];
    if (!is_shared(*rung, recorded)) continue;
    Progress progress(screen, rung->experiment->plan.ensemble.runs);
    if (!take_part(*rung->experiment, recorded.runs.get(), progress, ranks)) return;
  }
}

/// Selects the paths of popflow's rungs at the times and for the observables of external
/// trajectories, and adds the latter.
std::vector<RungPaths> with_external(const ComparisonPlan& plan, const SystemInfo& system,
                                     const SystemInfo& compared, const CommonTimes& common,
                                     const std::vector<Subject>& happenings,
                                     std::vector<RungPaths> paths) {
  const double end = common.times.back();
  std::vector<std::string> names;
  for (const ObservableInfo& info : compared.observables) names.push_back(info.name);
  for (std::size_t r = 0; r < paths.size(); ++r) {
    std::vector<Paths> chosen;
    for (std::size_t o = 0; o < system.observables.size(); ++o)
      if (std::find(names.begin(), names.end(), system.observables[o].name) != names.end())
        chosen.push_back(at_columns(paths[r].observables[o], common.columns[r]));
    paths[r].observables = std::move(chosen);
    for (FirstTimes& of : paths[r].happenings) cut_at(end, of);
  }
  for (const Trajectories& of : plan.given)
    paths.push_back(of.paths(names, common.columns[paths.size()], happenings, end));
  return paths;
}

/// Selects a rung's values at the times that all rungs have.
std::vector<double> values_at(const std::vector<double>& values,
                              const std::vector<std::size_t>& columns) {
  std::vector<double> result;
  result.reserve(columns.size());
  for (const std::size_t column : columns) result.push_back(values[column]);
  return result;
}

/// Computes the statistics from the runs' recorded values.
Outcome compare_runs(const ComparisonPlan& plan, TrajectoryFile& file, Workers& workers,
                     Screen& screen) {
  std::vector<Comparison> comparisons;
  for (const Ladder& ladder : plan.ladders) {
    const SystemInfo& info = ladder.rungs.front().experiment->system->info();
    const bool others = !plan.given.empty();
    const SystemInfo compared = plan.compared();
    const CommonTimes common = others ? common_times(plan.times()) : CommonTimes();
    TrajectoryGroup group(file, join(ladder.group, "comparison"));
    const ComparisonOptions options = plan.options_of(ladder);
    const std::vector<Subject> happenings = happenings_of(ladder);
    std::vector<RungPaths> paths;
    for (const Rung& rung : ladder.rungs)
      paths.push_back(read_paths(DataFile(file.path(), rung.path), rung, happenings));
    for (std::size_t r = 0; r < ladder.rungs.size(); ++r) {
      StepEffect effect;
      if (!has_step_effect(ladder.rungs[r])) continue;
      if (!measure_step_effect(ladder.rungs[r], paths[r], effect)) return interrupted();
      for (std::size_t o = 0; o < info.observables.size(); ++o) {
        const std::string& name = info.observables[o].name;
        if (others) {
          if (!file.has(join(ladder.group, "comparison/" + name + "_step_effect"))) continue;
          effect.mean[o] = values_at(effect.mean[o], common.columns[r]);
          effect.error[o] = values_at(effect.error[o], common.columns[r]);
        }
        const std::size_t place = r * effect.mean[o].size();
        group.write(name + "_step_effect", place, std::span<const double>(effect.mean[o]));
        group.write(name + "_step_effect_error", place, std::span<const double>(effect.error[o]));
      }
    }
    if (others) {
      const std::size_t computed = paths.size();
      paths = with_external(plan, info, compared, common, happenings, std::move(paths));
      std::vector<std::string> names;
      for (const TimesOf& rung : plan.times()) names.push_back(rung.name);
      for (const std::string& warning : start_warnings(names, computed, common, compared, paths))
        screen.warning(warning);
    }
    comparisons.push_back(compare_rungs(paths, compared, options, workers, happenings));
    write_comparison(group, comparisons.back());
    if (InterruptGuard::signal() != 0) return interrupted();
  }
  if (comparisons.size() > 1)
    write_orders(TrajectoryGroup(file, "comparison"), plan.ladders, comparisons,
                 plan.config.options.real("level"));
  if (plan.checks_noise()) {
    const std::optional<NoiseCheck> check = check_noise(plan.noise_rung());
    if (!check) return interrupted();
    write_noise(TrajectoryGroup(file, "noise"), *check);
  }
  return {};
}

ExitCode finish(const ComparisonPlan& plan, TrajectoryFile& file,
                const std::vector<RecordedRung>& before, const Provenance& provenance, Ranks& ranks,
                Workers& workers, Screen& screen) {
  Outcome runs, outcome;
  recording_failure(file, [&] {
    outcome = runs = run_rungs(plan, file, before, ranks, screen);
    if (outcome.kind == Outcome::Kind::interrupted) return;
    file.sync();
    outcome = compare_runs(plan, file, workers, screen);
  });
  screen.progress_done();
  const bool cut = outcome.kind == Outcome::Kind::interrupted;
  file.sync();
  file.set_attributes(
      {{"", "status", status_word(status_of(outcome.kind))},
       {"", "status_message",
        cut ? outcome.message
            : "all rungs were compared" +
                  (runs.message.empty() ? "" : ", up to their ends; " + runs.message)},
       {"provenance", "ended", timestamp()},
       {"provenance", "wall_time", provenance.wall_time()}});
  if (cut) {
    screen.warning(resume_hint(outcome, screen.program(), file.path()));
    return exit_code(outcome.kind);
  }
  screen.result(describe_comparison(DataFile(file.path())));
  return warn_of_early_end(runs, file.path(), screen);
}

/// Returns a note on the given options that have no effect on any rung; empty if each affects at
/// least one.
std::string no_effect_note(const std::vector<Rung>& rungs, const RunConfig& config) {
  std::vector<std::string> words, idle;
  for (const Rung& rung : rungs) words.push_back(rung.word);
  for (const Parameters* given : {&config.options, &config.own})
    for (const Parameter& option : given->table()) {
      if (!given->given(option.name)) continue;
      const bool of_run = rungs.front().experiment->config.options.find(option.name) != nullptr;
      if ((of_run || given == &config.own) &&
          std::none_of(rungs.begin(), rungs.end(), [&](const Rung& rung) {
            return acts(option, rung.experiment->config.options);
          }))
        idle.push_back("--" + option.name);
    }
  return idle.empty() ? ""
                      : "without effect on the rungs " + text::join(words, ", ") + ": " +
                            text::join(idle, ", ");
}

std::string dry_run(const ComparisonPlan& plan, const GroupSpec& layout, const std::string& program,
                    const std::string& path) {
  std::ostringstream text;
  text << program << " compare " << plan.config.system << ", nothing run\n"
       << config_text(plan.config);
  for (const Rung* rung : plan.rungs()) {
    const Experiment& e = *rung->experiment;
    text << rung->path << ": " << e.plan.ensemble.runs
         << (e.plan.ensemble.runs == 1 ? " run of " : " runs of ") << e.system->shape().state_size()
         << " numbers to t = " << shortest(e.plan.schedule().back()) << ", memory "
         << describe_bytes(8 * e.memory_doubles()) << '\n';
  }
  text << "file " << path << ", " << describe_bytes(file_bytes(layout)) << '\n';
  return text.str();
}

/// Prints warnings and plans before a comparison begins.
void print_notes(const RunConfig& config, const ComparisonPlan& plan, double bytes,
                 const std::string& path, int ranks, Screen& screen) {
  for (const std::string& unused : without_effect(config)) screen.message(unused);
  if (!plan.given.empty()) {
    const std::vector<TimesOf> times = plan.times();
    screen.message(common_times_note(common_times(times), times));
    for (const std::string& left_out :
         left_out_notes(plan.ladders.front().rungs.front().experiment->system->info(),
                        plan.compared(), plan.given))
      screen.message(left_out);
  }
  screen.message(start_note(config.options));
  for (const Rung& rung : plan.ladders.front().rungs)
    if (const std::string end = rounded_end_note(config.options, rung.experiment->plan.mode,
                                                 rung.experiment->plan.course.end);
        !end.empty()) {
      screen.message(end);
      break;
    }
  screen.message(no_effect_note(plan.ladders.front().rungs, config));
  for (const std::string& warning : warnings_of(plan.ladders.front().rungs))
    screen.warning(path, warning);
  if (!config.options.has("state")) screen.message(states_note(plan.rungs(), bytes));
  std::vector<const Experiment*> experiments;
  for (const Rung* rung : plan.rungs()) experiments.push_back(rung->experiment.get());
  screen.warning(path, cost_warning(experiments, ranks));
}

ExitCode compare_on(Ranks& ranks, const RunConfig& config, const std::string& path,
                    const Catalogue& catalogue, Screen& screen) {
  const Parameters& options = config.options;
  const auto workers = workers_of(ranks, options);
  const auto plan = on_all(ranks, [&] {
    return after_inputs(
        [&] {
          std::vector<InputFile> inputs = input_files(config);
          if (options.has("from"))
            for (const FinishedFile& file : finished_files(options.word("from")))
              inputs.push_back({file.path, "--from"});
          refuse_input_as_output(path, inputs);
          if (ranks.first()) require_free(path, options);
        },
        [&] { return std::make_unique<ComparisonPlan>(config, catalogue, *workers); });
  });
  const std::vector<RecordedRung> nothing(plan->rungs().size());
  const bool dry = options.flag("dry-run");
  if (!ranks.first()) {
    if (!dry) compute_for_first_rank(*plan, nothing, ranks, screen);
    return ExitCode::success;
  }
  if (dry) {
    screen.result(dry_run(*plan, plan->layout(), screen.program(), path));
    return ExitCode::success;
  }
  std::optional<InterruptGuard> guard;
  const Provenance provenance;
  const auto file = on_all(ranks, [&] {
    const GroupSpec layout = plan->layout();
    const double bytes = file_bytes(layout);
    print_notes(config, *plan, bytes, path, ranks.size(), screen);
    require_disk(path, bytes);
    // Before this point a signal ends the program at once, because nothing needs to be kept.
    guard.emplace();
    return std::make_unique<TrajectoryFile>(
        TrajectoryFile::create(path, layout, options.flag("force")));
  });
  const ExitCode code = finish(*plan, *file, nothing, provenance, ranks, *workers, screen);
  if (InterruptGuard::signal() == 0) screen.show_picture(path);
  return code;
}

}  // namespace

ExitCode compare(const RunConfig& config, const Catalogue& catalogue, Screen& screen) {
  const std::string path =
      config.options.has("output") ? config.options.word("output") : config.system + "-compare.h5";
  return with_ranks(Ranks::Connect::directly, task_of(config, path), [&](Ranks& ranks) {
    return compare_on(ranks, config, path, catalogue, screen);
  });
}

namespace {

/// Prints how a finished comparison ended.
ExitCode report_finished(const std::string& path, Screen& screen) {
  screen.message(path + " is finished (complete): nothing to do");
  const DataFile finished(path);
  screen.result(describe_comparison(finished));
  Outcome runs;
  // A comparison of finished files needs no report, because it runs nothing: the runs' files state
  // how they ended.
  if (finished.text_attribute("parameters", "from").value_or("").empty())
    for (const auto& group :
         text::split_words(finished.text_attribute("", "run_groups").value_or("")))
      note_end(recorded_outcome(DataFile(path, group)), group, runs);
  warn_of_early_end(runs, path, screen);
  return ExitCode::success;
}

/// Returns the configuration with which the comparison in a file is resumed.
RunConfig config_of_comparison(const DataFile& before, const ResumeOptions& options,
                               const Catalogue& catalogue) {
  RunConfig config = stored_config(before, catalogue, compare_from_config_text);
  // The problem in the file replaces the options that made the problem, unless the start comes from
  // another file, which alone stores the start.
  if (!config.options.has("init-from"))
    use_own_problem(config, before, catalogue.info(config.system));
  options.apply(config.options);
  return config;
}

ExitCode resume_on(Ranks& ranks, const std::string& path, const ResumeOptions& options,
                   const Catalogue& catalogue, Screen& screen) {
  const auto settled = [&] {
    return DataFile(path).text_attribute("", "status").value_or("") == "complete";
  };
  std::optional<TrajectoryFile> file;
  const bool finished = on_all(ranks, [&] {
    if (settled()) return true;
    if (!ranks.first()) return false;
    file = TrajectoryFile::open(path);
    // Settle again, because another process may have finished the file before it was opened here.
    return settled();
  });
  ranks.require_same(finished ? "finished" : "unfinished");
  if (finished) return ranks.first() ? report_finished(path, screen) : ExitCode::success;
  Provenance provenance;
  std::int64_t resumed = 0;
  const auto configured = on_all(ranks, [&] {
    const DataFile before(path);
    provenance.before = before.number_attribute("provenance", "wall_time").value_or(0);
    resumed = times_resumed(before);
    return std::make_unique<RunConfig>(config_of_comparison(before, options, catalogue));
  });
  const auto workers = workers_of(ranks, configured->options);
  std::vector<RecordedRung> recorded;
  const auto plan = on_all(ranks, [&] {
    auto made = blaming_file(path, [&] {
      return std::make_unique<ComparisonPlan>(*configured, catalogue, *workers, path);
    });
    if (file) {
      const GroupSpec layout = made->layout();
      file->require(layout);
      require_axes(DataFile(path), layout);
    }
    if (configured->options.has("init-from")) made->require_same_starts(path);
    recorded = recorded_rungs_of(*made, path);
    return made;
  });
  if (!ranks.first()) {
    compute_for_first_rank(*plan, recorded, ranks, screen);
    return ExitCode::success;
  }
  const InterruptGuard guard;
  on_all(ranks, [&] {
    mark_resumed(*file, resumed + 1);
    return true;
  });
  return finish(*plan, *file, recorded, provenance, ranks, *workers, screen);
}

}  // namespace

ExitCode resume_comparison(const std::string& path, const ResumeOptions& options,
                           const Catalogue& catalogue, Screen& screen) {
  if (options.t_end)
    throw UsageError("--t-end: a comparison cannot be extended; run a new one by '" +
                     screen.program() + " compare'");
  return with_ranks(Ranks::Connect::directly, options.task(path), [&](Ranks& ranks) {
    return resume_on(ranks, path, options, catalogue, screen);
  });
}

}  // namespace popflow
