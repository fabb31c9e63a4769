#include "run/experiment.hpp"

#include <algorithm>
#include <numeric>

#include "engine/drivers.hpp"
#include "engine/memory_of_runs.hpp"
#include "engine/specs.hpp"
#include "engine/status.hpp"
#include "file/output.hpp"
#include "flow/step_length.hpp"
#include "machine/cores.hpp"
#include "options/description.hpp"
#include "options/tokens.hpp"
#include "popflow/memory.hpp"
#include "run/last_state.hpp"
#include "text/text.hpp"

namespace popflow {

unsigned threads_of(const Parameters& options) {
  return options.has("threads") ? static_cast<unsigned>(options.integer("threads")) : 0;
}

std::unique_ptr<Workers> workers_of(const Ranks& ranks, const Parameters& options) {
  const unsigned share = ranks.share_of(usable_cores());
  return std::make_unique<Workers>(options.has("threads") ? threads_of(options) : share);
}

std::string task_of(const RunConfig& config, const std::string& path) {
  return config.system + "\n" + path + "\n" + config_text(config);
}

void require_free(const std::string& path, const Parameters& options) {
  if (!options.flag("dry-run")) require_free(path, options.flag("force"));
}

std::string resume_hint(const Outcome& outcome, const std::string& program,
                        const std::string& path) {
  return outcome.message + "; all records are kept, and '" + program + " resume " +
         options::shell_quoted(path) + "' continues the computation";
}

Outcome recorded_outcome(const DataFile& file) {
  const std::optional<Status> status =
      status_of_word(file.text_attribute("", "status").value_or(""));
  return {outcome_kind(status.value_or(Status::interrupted)), 0,
          file.text_attribute("", "status_message").value_or("")};
}

Experiment::Experiment(const RunConfig& from, const Catalogue& catalogue, Workers& threads)
    : config(from), workers(threads), catalogue_(catalogue) {
  Parameters& options = config.options;
  const Plan asked = plan_of(options);
  const auto circumstances = settle_circumstances(config.system, asked, catalogue, workers);
  Made made = make_system(config.system, config.own, asked, catalogue, workers, *circumstances);
  if (circumstances->start) continues_at = circumstances->start->t;
  system = std::move(made.system);
  require_rhs(*system);
  config.own = std::move(made.own);
  plan = completed(asked, *system, circumstances->state());
  record(plan, options);
  constexpr double kNumbersOfRun = 32;  // status, counts, ending and progress, and copies of these
  require_memory(kNumbersOfRun * static_cast<double>(plan.ensemble.runs),
                 "--runs " + options.text("runs"));
  require_memory(numbers_of_states(*system, plan.mode, runs_at_a_time()), "this run");
  // Making a driver refuses what the mode does not allow before anything is written.
  driver_data = make_driver(*system, workers, plan.mode, 0, {})->resume_point().data;
  require_memory(memory_doubles(),
                 std::to_string(runs_at_a_time()) + " runs at a time (--threads)");
  continued_ = ContinuedRuns::of(plan);
  for (std::size_t run = 0; continued_ && run < plan.ensemble.runs; ++run)
    continued_->require(plan.ensemble.first_run + run);
  if (!options.has("threads")) options.resolve("threads", std::int64_t{workers.threads()});
}

std::optional<Restart> Experiment::start_of(std::size_t run) const {
  if (!continued_) return std::nullopt;
  return continued_->start_of(run, config, *system, catalogue_, workers, driver_data);
}

void Experiment::cut_states() {
  popflow::cut_states(plan);
  record(plan, config.options);
}

std::string cut_states_note(const std::string& of) {
  return "all states " + (of.empty() ? "" : "of " + of + " ") +
         "would take more than 1 GiB, so only the first and the last are recorded; --state all "
         "records all of them";
}

std::string spacing_note(const Experiment& experiment) {
  if (!experiment.plan.course.log_was_chosen) return "";
  return "the first stage takes only about " +
         text::rounded(experiment.system->first_stage_time()) + " of " +
         text::rounded(experiment.plan.course.end) +
         ", so records are equally spaced in log t; --save-spacing linear spaces them in t";
}

std::size_t Experiment::runs_at_a_time() const {
  return std::min<std::size_t>(plan.ensemble.runs, workers.threads());
}

double Experiment::memory_doubles() const {
  return numbers_of_runs(*system, plan.mode, runs_at_a_time());
}

GroupSpec Experiment::layout(const RunConfig& recorded) const {
  GroupSpec layout = run_layout(*system, recorded, plan, driver_data, workers.threads());
  if (continues_at) layout.attributes.push_back({"continues_at", *continues_at});
  return layout;
}

Progress::Progress(Screen& screen, std::vector<double> work)
    : screen_(screen), work_(std::move(work)), at_(work_.size()) {
  const double all = std::accumulate(work_.begin(), work_.end(), 0.0);
  for (double& part : work_) part /= all;
}

std::function<void(double)> Progress::of(std::size_t run, double end) {
  return [this, run, end, calls = 0u](double t) mutable {
    // The clock is read only on every 16th step, because steps of small systems take microseconds.
    if (++calls % 16 != 0) return;
    at_[run].store(t / end, std::memory_order_relaxed);
    // Summing over all runs may take longer than a step, so the sum is computed only at intervals
    // of time.
    const Clock::time_point now = Clock::now();
    if (now < next_look_.load(std::memory_order_relaxed)) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;
    next_look_.store(now + kBetweenLooks, std::memory_order_relaxed);
    double sum = 0;
    for (std::size_t i = 0; i < at_.size(); ++i)
      sum += work_[i] * at_[i].load(std::memory_order_relaxed);
    screen_.progress(sum, at_.size() > 1 ? "" : "t = " + text::rounded(t));
  };
}

void Progress::warn(const std::string& sentence) {
  const std::lock_guard lock(mutex_);
  screen_.warning(sentence);
}

void mark_resumed(const TrajectoryGroup& file, std::int64_t times) {
  file.set_attributes({{"", "status", std::string("running")},
                       {"", "status_message", std::string("the run has not ended")},
                       {"provenance", "resumed", times},
                       {"provenance", "last_resumed", timestamp()}});
}

namespace {

/// Returns a sentence for the file about an exception that ended a run; none if the exception is
/// not about the run.
std::optional<std::string> failure_sentence(const std::exception_ptr& what) {
  try {
    std::rethrow_exception(what);
  } catch (const OutputError&) {
    return std::nullopt;  // the file cannot be written
  } catch (const Ranks::Aborted&) {
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    return "there was not enough memory";
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an object that is not a std::exception was thrown";
  }
}

}  // namespace

void record_failure(const TrajectoryGroup& file, const std::exception_ptr& what) noexcept {
  try {
    if (const std::optional<std::string> said = failure_sentence(what))
      file.set_attributes({{"", "status", status_word(Status::failed)},
                           {"", "status_message", *said},
                           {"provenance", "ended", timestamp()}});
  } catch (...) {  // the first failure is reported
  }
}

void close_run(const TrajectoryGroup& file, const Ending& ending, const Experiment& experiment,
               const Provenance& provenance) {
  const Outcome& outcome = ending.outcome;
  std::string message = outcome.message;
  if (outcome.kind == Outcome::Kind::reached && message.empty())
    message = "reached " + at_time(experiment.plan.schedule().back());
  std::vector<TrajectoryFile::AttributeChange> changes = {
      {"", "status", status_word(status_of(outcome.kind))},
      {"", "status_message", message},
      {"", "diverged_at", outcome.diverged_at},
      {"provenance", "ended", timestamp()},
      {"provenance", "wall_time", provenance.wall_time()}};
  if (!experiment.system->info().outcomes.empty()) changes.push_back({"", "outcome", ending.where});
  file.sync();
  file.set_attributes(changes);
}

}  // namespace popflow
