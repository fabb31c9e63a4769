#include "run/run.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "engine/distribution.hpp"
#include "engine/interrupt.hpp"
#include "file/axes.hpp"
#include "file/output.hpp"
#include "options/input_files.hpp"
#include "popflow/memory.hpp"
#include "report/ensemble_summary.hpp"
#include "report/summary.hpp"
#include "run/continued_runs.hpp"
#include "run/cost.hpp"
#include "run/ensemble.hpp"
#include "run/experiment.hpp"
#include "run/resume_config.hpp"

namespace popflow {

namespace {

std::string output_of(const RunConfig& config) {
  if (config.options.has("output")) return config.options.word("output");
  return config.system + "-" + config.options.word("mode") + ".h5";
}

ExitCode report(const std::string& path, const Outcome& outcome, bool may_warn, Screen& screen) {
  screen.progress_done();
  // The file is read again only if somebody sees the result: reading may take longer than a short
  // run.
  if (!screen.quiet() || may_warn) {
    const DataFile file(path);
    if (!screen.quiet()) screen.result(summarize(file));
    if (outcome.kind != Outcome::Kind::interrupted)
      for (const std::string& warning : warnings_at_end(file)) screen.warning(path, warning);
  }
  if (outcome.kind == Outcome::Kind::interrupted)
    screen.warning(resume_hint(outcome, screen.program(), path));
  else if (outcome.kind != Outcome::Kind::steady && outcome.kind != Outcome::Kind::stopped)
    screen.warning(path, outcome.message);
  return exit_code(outcome.kind);
}

/// Prints again how the run ended. A finished file needs no resuming, so the exit code is 0 however
/// the run ended; scripts read the attribute `status`.
ExitCode report_finished(const std::string& path, const ResumePlan& plan, Screen& screen) {
  screen.message(plan.why_finished);
  const DataFile file(path);
  Outcome outcome = recorded_outcome(file);
  // No message if all runs reached the end; otherwise some runs of the ensemble diverged.
  if (outcome.kind == Outcome::Kind::reached && Counted(file).note().empty())
    outcome.message.clear();
  report(path, outcome, true, screen);
  return ExitCode::success;
}

std::string dry_run(const Experiment& experiment, const std::string& program,
                    const std::string& path) {
  std::ostringstream text;
  const auto size = experiment.system->shape().state_size();
  text << program << " run " << experiment.config.system << ", nothing run\n"
       << config_text(experiment.config) << "state numbers   " << size << '\n'
       << "memory          " << describe_bytes(8 * experiment.memory_doubles())
       << " for states, the integrator and samples\n"
       << "file            " << path << ", " << describe_bytes(file_bytes(experiment.layout()))
       << '\n';
  return text.str();
}

std::string dry_run_json(const Experiment& experiment, const std::string& path) {
  nlohmann::ordered_json options = nlohmann::ordered_json::object();
  for (const Parameters* table : {&experiment.config.options, &experiment.config.own})
    for (const Parameter& row : table->table())
      if (describes_run(row.name) && table->has(row.name))
        options[row.name] = table->text(row.name);
  const nlohmann::ordered_json json = {{"system", experiment.config.system},
                                       {"options", options},
                                       {"state_numbers", experiment.system->shape().state_size()},
                                       {"memory_bytes", 8 * experiment.memory_doubles()},
                                       {"file", path},
                                       {"file_bytes", file_bytes(experiment.layout())}};
  return json.dump(1);
}

/// Prints notes and warnings that the user should see before the run begins.
void print_notes(const RunConfig& config, const Experiment& experiment, const std::string& path,
                 int ranks, Screen& screen) {
  RunConfig settled = config;  // --save-first has an effect if auto chooses log
  settled.options.adopt("save-spacing", experiment.config.options);
  for (const std::string& unused : without_effect(settled)) screen.message(unused);
  screen.message(start_note(config.options));
  screen.warning(path, start_warning(config.options));
  screen.message(
      rounded_end_note(config.options, experiment.plan.mode, experiment.plan.course.end));
  for (const Note& note : experiment.system->notes())
    if (note.warning)
      screen.warning(path, note.text);
    else
      screen.message(note.text);
  screen.message(spacing_note(experiment));
  if (experiment.plan.output.states_were_cut) screen.message(cut_states_note());
  const Experiment* const alone = &experiment;
  screen.warning(path, cost_warning({&alone, 1}, ranks));
}

/// Computes the runs that the first rank hands out. Called by all other ranks.
ExitCode compute_for_first_rank(Experiment& experiment, const RecordedRuns* before, Ranks& ranks,
                                Screen& screen) {
  const InterruptGuard guard;
  Progress progress(screen, experiment.plan.ensemble.runs);
  ranks.agree(nullptr);
  (void)take_part(experiment, before, progress, ranks);
  return ExitCode::success;
}

ExitCode run_on(Ranks& ranks, const RunConfig& config, const Catalogue& catalogue, Screen& screen) {
  const std::string path = output_of(config);
  const auto workers = workers_of(ranks, config.options);
  const auto experiment = on_all(ranks, [&] {
    if (threads_of(config.options) > workers->threads())
      screen.warning("--threads " + config.options.text("threads") + ": the system allows only " +
                     std::to_string(workers->threads()));
    return after_inputs(
        [&] {
          refuse_input_as_output(path, input_files(config));
          if (ranks.first()) require_free(path, config.options);
        },
        [&] { return std::make_unique<Experiment>(config, catalogue, *workers); });
  });
  const bool dry = config.options.flag("dry-run");
  if (!ranks.first())
    return dry ? ExitCode::success : compute_for_first_rank(*experiment, nullptr, ranks, screen);
  if (dry) {
    screen.result(config.options.flag("json") ? dry_run_json(*experiment, path)
                                              : dry_run(*experiment, screen.program(), path));
    return ExitCode::success;
  }
  const Provenance provenance;
  bool may_warn = false;
  std::optional<InterruptGuard> guard;
  const auto file = on_all(ranks, [&] {
    print_notes(config, *experiment, path, ranks.size(), screen);
    GroupSpec layout = experiment->layout();
    may_warn = may_warn_at_end(layout);
    require_disk(path, file_bytes(layout));
    // From here on a signal keeps the records; before, it ends the program at once.
    guard.emplace();
    // The file appears with its starts in it, so that a killed run can be resumed at any moment.
    auto created =
        std::make_unique<TrajectoryFile>(TrajectoryFile::create_meanwhile(path, std::move(layout)));
    write_starts(*experiment, *created);
    created->publish_meanwhile(config.options.flag("force"));
    return created;
  });
  Progress progress(screen, experiment->plan.ensemble.runs);
  const Ending ending = recording_failure(
      *file, [&] { return run_all(*experiment, *file, nullptr, progress, ranks); });
  close_run(*file, ending, *experiment, provenance);
  const ExitCode code = report(path, ending.outcome, may_warn, screen);
  screen.show_picture(path);
  return code;
}

}  // namespace

ExitCode run_experiment(const RunConfig& config, const Catalogue& catalogue, Screen& screen) {
  if (config.options.flag("json") && !config.options.flag("dry-run"))
    throw UsageError("--json prints what --dry-run shows; for the results of a run use '" +
                     screen.program() + " info " + output_of(config) + " --json'");
  // Only ensembles have work for several ranks.
  if (!has_noise(config.options)) require_one_process("a run of a flow");
  return with_ranks(Ranks::Connect::directly, task_of(config, output_of(config)),
                    [&](Ranks& ranks) { return run_on(ranks, config, catalogue, screen); });
}

namespace {

ExitCode resume_on(Ranks& ranks, const std::string& path, const ResumeOptions& options,
                   const Catalogue& catalogue, Screen& screen) {
  std::optional<TrajectoryFile> file;
  const auto plan = on_all(ranks, [&]() -> std::unique_ptr<ResumePlan> {
    auto look = [&] { return std::make_unique<ResumePlan>(plan_resume(path, options, catalogue)); };
    auto found = look();
    if (found->finished) return found;
    if (ranks.first()) {
      file = TrajectoryFile::open(path);
      // Look again, because another process may have finished the file before it was opened here.
      found = look();
    }
    return found;
  });
  ranks.require_same(plan->finished ? "finished" : "unfinished");
  if (plan->finished)
    return ranks.first() ? report_finished(path, *plan, screen) : ExitCode::success;
  const Provenance provenance{.before = plan->wall_time};
  const auto workers = workers_of(ranks, plan->config.options);
  std::unique_ptr<Experiment> experiment;
  const auto before = on_all(ranks, [&] {
    experiment = blaming_file(
        path, [&] { return std::make_unique<Experiment>(plan->config, catalogue, *workers); });
    if (plan->extends) experiment->plan.course.spacing = plan->spacing;
    if (file) {
      const GroupSpec layout = experiment->layout();
      if (!plan->extends) file->require(layout);
      require_axes(DataFile(path), layout);
    }
    return std::make_unique<RecordedRuns>(DataFile(path), *experiment, plan->extends);
  });
  if (!ranks.first()) return compute_for_first_rank(*experiment, before.get(), ranks, screen);
  const InterruptGuard guard;
  const bool begun = on_all(ranks, [&] {
    try {
      if (plan->extends) {
        const GroupSpec layout = experiment->layout(plan->recorded);
        require_disk(path, file_bytes(layout), "");
        file = extend_file(path, layout);
      }
    } catch (const Interrupted&) {
      return false;
    }
    mark_resumed(*file, plan->resumed + 1);
    return true;
  });
  if (!begun) {
    dismiss(ranks);
    screen.warning("interrupted before the extension began; " + path + " is unchanged");
    return exit_code(Outcome::Kind::interrupted);
  }
  Progress progress(screen, experiment->plan.ensemble.runs);
  const Ending ending = recording_failure(
      *file, [&] { return run_all(*experiment, *file, before.get(), progress, ranks); });
  close_run(*file, ending, *experiment, provenance);
  return report(path, ending.outcome, true, screen);
}

}  // namespace

ExitCode resume_experiment(const std::string& path, const ResumeOptions& options,
                           const Catalogue& catalogue, Screen& screen) {
  const bool ensemble = DataFile(path).has_dataset("run");
  if (!ensemble) require_one_process("a run of a flow");
  return with_ranks(Ranks::Connect::directly, options.task(path), [&](Ranks& ranks) {
    return resume_on(ranks, path, options, catalogue, screen);
  });
}

}  // namespace popflow
