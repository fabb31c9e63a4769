#include "sweep/cell_runner.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "engine/drivers.hpp"
#include "engine/memory_of_runs.hpp"
#include "observed/observed.hpp"
#include "popflow/error.hpp"
#include "sweep/refusal.hpp"
#include "training/trained.hpp"

namespace popflow {

CellRunner::CellRunner(const Cells& cells, const SweepColumns& columns, const Catalogue& catalogue,
                       Workers& workers, std::function<bool()> interrupted, Refusals* refusals)
    : cells_(cells),
      columns_(columns),
      catalogue_(catalogue),
      workers_(workers),
      interrupted_(std::move(interrupted)),
      new_start_(catalogue.new_start(cells.base().system)),
      refusals_(refusals),
      keep_going_(cells.sweep().options.flag("keep-going")),
      options_vary_(cells.own_seeds()),
      config_(cells.base()) {
  const std::vector<std::string>& starts = new_start_.parameters;
  const bool elsewhere = cells.base().options.has("init-from") || cells.sweeps("init-from");
  for (const Axis& axis : cells.axes()) {
    Difference along = Difference::none;
    for (const SweptParameter& swept : axis.parameters) {
      const bool own = cells.base().own.find(swept.name()) != nullptr;
      const bool start = own && !elsewhere &&
                         std::find(starts.begin(), starts.end(), swept.name()) != starts.end();
      if (own) along = std::max(along, start ? Difference::start : Difference::problem);
      options_vary_ = options_vary_ || !own;
    }
    along_axes_.push_back(along);
  }
}

const FlowPlan* CellRunner::Current::flow_in_lanes() const {
  const auto* flow = refused ? nullptr : std::get_if<FlowPlan>(&plan->mode);
  return flow != nullptr && flow->lanes ? flow : nullptr;
}

bool CellRunner::Current::side_by_side() const {
  return flow_in_lanes() != nullptr || (!refused && runs_together(plan->mode) > 1);
}

CellRunner::Difference CellRunner::difference(std::uint64_t a, std::uint64_t b) const {
  Difference all = Difference::none;
  // Decomposes the number as Cells::places() does.
  for (std::size_t axis = along_axes_.size(); axis-- > 0;) {
    const std::uint64_t size = cells_.axes()[axis].size();
    if (a % size != b % size) all = std::max(all, along_axes_[axis]);
    a /= size;
    b /= size;
  }
  return all;
}

template <class Make>
bool CellRunner::accepted(std::uint64_t number, Make make) const {
  if (!keep_going_) {
    naming_cell(cells_, number, make);
    return true;
  }
  try {
    make();
    return true;
  } catch (const Error& error) {
    if (!is_refusal(error)) throw;
    if (refusals_ != nullptr) refusals_->add(cells_.describe(number), error.what());
  }
  return false;
}

/// Thrown if some of the flows that ran together failed. Each flow is then rerun alone, which shows
/// whether it failed.
struct CellRunner::FailedTogether {};

template <class Call>
bool CellRunner::all_accepted(const std::vector<Job>& jobs, Call call) const {
  if (jobs.size() == 1 || cells_.noisy()) return accepted(jobs.front().cell->number, call);
  try {
    call();
    return true;
  } catch (const Error& error) {
    if (is_refusal(error)) throw FailedTogether();
    throw;
  }
}

const CellRunner::Current& CellRunner::enter(std::uint64_t number) {
  if (current_ && current_->number == number) return *current_;
  const auto next = std::make_shared<Current>(Current{number});
  next->refused = !accepted(number, [&] { make(*next); });
  current_ = next;
  return *current_;
}

void CellRunner::set(std::uint64_t number) {
  // Words are parsed and options settled only where they may have changed.
  const bool anew = options_vary_ || !set_;
  const std::optional<std::uint64_t> before = anew ? std::nullopt : set_;
  set_.reset();
  if (anew) config_ = cells_.base();
  cells_.set(config_, number, before);
  if (anew) {
    complete_run(config_.options);
    asked_ = std::make_shared<Plan>(plan_of(config_.options));
  }
  set_ = number;
}

std::shared_ptr<const Plan> CellRunner::plan_for(const Current& next) {
  const bool by_options_alone = !options_vary_ && !cells_.noisy() && asked_->course.asked.end;
  // A change of coordinates may change whether there are lanes.
  const bool as_before = current_ && current_->plan && current_->in_lanes == next.in_lanes;
  if (by_options_alone && as_before) return current_->plan;
  return std::make_shared<Plan>(
      completed(*asked_, *next.system, circumstances_->state(), Context::in_sweep));
}

std::unique_ptr<System> CellRunner::make_system() {
  if (options_vary_ || !circumstances_) {
    circumstances_ = settle_circumstances(config_.system, *asked_, catalogue_, workers_);
    continued_ = ContinuedRuns::of(*asked_);
  }
  // The shapes of all cells were checked for the file's columns.
  Made made = catalogue_.make(config_.system, config_.own, circumstances_->setting, workers_);
  made.system =
      as_trained(std::move(made.system), asked_->training, made.own, circumstances_->state());
  return as_observed(std::move(made.system), asked_->observation, made.own);
}

std::shared_ptr<const System> CellRunner::system_of(std::uint64_t number) {
  const bool as_asked_before =
      made_as_ && (made_as_ == asked_ || make_same_system(*made_as_, *asked_));
  if (!as_asked_before || difference(made_of_, number) == Difference::problem) known_.clear();
  if (as_asked_before && current_ && current_->system &&
      difference(current_->number, number) == Difference::none)
    return current_->system;
  made_as_ = asked_;
  made_of_ = number;
  std::shared_ptr<System> system;
  if (!known_.empty() && known_.front().use_count() == 1) {  // no cell needs it any more
    system = std::move(known_.front());
    known_.pop_front();
    new_start_.apply(*system, config_.own);
  } else {
    system = make_system();
  }
  // new_start_ changes only the System itself, not a Trained or Observed around it.
  if (new_start_.apply && !asked_->training && asked_->observation.is_plain())
    known_.push_back(system);
  return system;
}

void CellRunner::make(Current& next) {
  set(next.number);
  next.system = system_of(next.number);
  const Capabilities can = next.system->capabilities();
  next.in_lanes = static_cast<bool>(can.in_lanes);
  next.swept = {next.system.get(), can.outcomes.operator->(), can.final_values.operator->()};
  next.plan = plan_for(next);
}

std::vector<CellRunner::Job> CellRunner::jobs(std::span<const CellRun> runs) {
  // When a flow ends, its lane takes the next one, so only the last flows leave lanes idle. More
  // flows than lanes therefore go together if they are quick (threads then claim many of them);
  // slow ones would be kept too long before they are written.
  constexpr std::size_t kFlows = 4 * kLanes;
  constexpr std::size_t kQuickFlows = 16 * kLanes;
  enter(runs.front().number);
  std::vector<Job> jobs;
  jobs.push_back({runs.front(), current_});
  const std::shared_ptr<const Current> first = current_;
  const bool of_flows = first->flow_in_lanes() != nullptr;
  together_ = of_flows ? kFlows : first->side_by_side() ? kLanes : 1;
  const std::size_t most = of_flows ? kQuickFlows : together_;
  while (jobs.size() < std::min(most, runs.size())) {
    const CellRun& next = runs[jobs.size()];
    if (cells_.noisy() && next.number != first->number) break;
    const Current& cell = enter(next.number);
    if (!cell.side_by_side()) break;
    jobs.push_back({next, current_});
  }
  return jobs;
}

std::optional<Restart> CellRunner::start_of(const Job& job, const Driver& driver) const {
  if (!continued_) return std::nullopt;
  return continued_->start_of(job.of.run, config_, *job.cell->system, catalogue_, workers_,
                              driver.resume_point().data);
}

bool CellRunner::make_drivers_of(std::vector<Job>& jobs) {
  const Current& first = *jobs.front().cell;
  if (first.refused) return false;
  return all_accepted(jobs, [&] {
    std::vector<std::unique_ptr<Driver>> drivers;
    if (first.flow_in_lanes() != nullptr) {
      std::vector<FlowLanes::Flow> flows;
      flows.reserve(jobs.size());
      for (const Job& job : jobs)
        flows.push_back({job.cell->system.get(), job.cell->flow_in_lanes()->driver});
      lanes_.emplace(std::move(flows), interrupted_);
      drivers = lanes_->drivers();
    } else {
      std::vector<std::uint32_t> numbers;
      numbers.reserve(jobs.size());
      for (const Job& job : jobs) numbers.push_back(static_cast<std::uint32_t>(job.of.run));
      drivers = make_drivers(*first.system, workers_, first.plan->mode, numbers,
                             std::vector<DriverHooks>(jobs.size(), {interrupted_, {}}));
    }
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      Job& job = jobs[i];
      std::optional<Restart> start = start_of(job, *drivers[i]);
      job.writer.emplace(columns_, job.cell->swept, job.of.run_row, job.of.cell_row);
      job.run.emplace(job.cell->plan->schedule(), std::move(drivers[i]), *job.writer);
      job.run->begin(std::move(start));
    }
  });
}

bool CellRunner::move(std::vector<Job>& jobs) {
  if (lanes_ && jobs.size() > 1) return move_in_lanes(jobs);
  std::size_t saves = 0;
  for (const Job& job : jobs) saves = std::max(saves, job.cell->plan->schedule().size());
  for (std::size_t save = 0; save < saves; ++save)
    for (Job& job : jobs)
      if (!move(job, save)) return false;
  return true;
}

bool CellRunner::move(Job& job, std::size_t save) const {
  if (job.failed) return true;
  job.failed = !accepted(job.cell->number, [&] { job.run->advance(save); });
  return job.run->outcome().kind != Outcome::Kind::interrupted;
}

void CellRunner::write_records(Job& job, std::span<const double> records, std::size_t& next) const {
  const std::size_t entries = job.cell->system->shape().state_size();
  job.failed = !accepted(job.cell->number, [&] {
    for (; !records.empty(); records = records.subspan(1 + entries))
      job.writer->save(next++, records.front(), {records.subspan(1, entries), {}});
  });
}

bool CellRunner::move_in_lanes(std::vector<Job>& jobs) {
  std::vector<std::size_t> next(jobs.size(), 0);  // number of each flow's next save
  const auto is_under_way = [&](std::size_t i) {
    return !jobs[i].failed && !jobs[i].run->ended() &&
           next[i] < jobs[i].cell->plan->schedule().size();
  };
  for (bool moves = true; moves;) {
    std::vector<std::span<const double>> targets;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const Schedule& schedule = jobs[i].cell->plan->schedule();
      targets.push_back(std::span(schedule).subspan(std::min(next[i], schedule.size() - 1)));
    }
    all_accepted(jobs, [&] { lanes_->advance(targets); });
    moves = false;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (!is_under_way(i)) continue;
      write_records(jobs[i], lanes_->take_records(i), next[i]);
      while (is_under_way(i) && lanes_->is_ready(i))
        if (!move(jobs[i], next[i]++)) return false;
      moves = moves || is_under_way(i);
    }
  }
  return true;
}

void CellRunner::require(const CellRun& run) {
  lanes_.reset();
  std::vector<Job> alone = jobs({&run, 1});
  (void)make_drivers_of(alone);
}

double CellRunner::numbers_of_last() const {
  if (!current_ || current_->refused) return 0;
  // Noisy runs that go together draw their samples one after the other.
  const std::size_t flows = cells_.noisy() ? 1 : together_;
  return static_cast<double>(flows) * numbers_of_runs(*current_->system, current_->plan->mode, 1);
}

std::size_t CellRunner::compute(std::span<const CellRun> runs) {
  std::vector<Job> jobs = this->jobs(runs);
  try {
    return compute(jobs) ? jobs.size() : 0;
  } catch (const FailedTogether&) {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      std::vector<Job> alone;
      alone.push_back({jobs[i].of, jobs[i].cell});
      if (!compute(alone)) return i;
    }
    return jobs.size();
  }
}

bool CellRunner::compute(std::vector<Job>& jobs) {
  lanes_.reset();
  const bool accepted = make_drivers_of(jobs);
  for (const Job& job : jobs) {
    std::fill(job.of.run_row.begin(), job.of.run_row.end(), std::nan(""));
    write_cell(*job.cell, job.of.cell_row);
    if (!accepted) mark_refused(columns_, job.of.run_row);
  }
  if (!accepted) return true;
  if (!move(jobs)) return false;
  for (Job& job : jobs)
    if (job.failed)
      mark_refused(columns_, job.of.run_row);
    else
      job.run->finish();
  return true;
}

void CellRunner::write_cell(const Current& cell, std::span<double> row) const {
  std::fill(row.begin(), row.end(), std::nan(""));
  if (columns_.has_seed)
    row[columns_.seed] = static_cast<double>(
        cells_.own_seeds() ? cells_.seed(cell.number) : cells_.base().options.integer("seed"));
  if (cell.refused) return;
  for (std::size_t i = 0; i < columns_.constant_names.size(); ++i)
    for (const auto& [name, value] : cell.system->shape().constants)
      if (name == columns_.constant_names[i]) row[columns_.constants + i] = value;
  if (!columns_.own_times) return;
  std::copy_n(cell.plan->schedule().begin(), std::min(cell.plan->schedule().size(), columns_.saves),
              row.begin() + static_cast<std::ptrdiff_t>(columns_.cell_times));
}

}  // namespace popflow
