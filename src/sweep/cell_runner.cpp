#include "sweep/cell_runner.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "popflow/error.hpp"
#include "run/last_state.hpp"
#include "run/modes.hpp"
#include "sweep/cell_status.hpp"

namespace popflow {

namespace {

/// The options of `run` from which a Setting is made (make_setting()).
bool is_of_setting(const std::string& option) {
  constexpr std::array<std::string_view, 7> known = {
      "method", "dt", "learning-rate", "svag", "problem", "problem-seed", "init-from"};
  return std::find(known.begin(), known.end(), option) != known.end();
}

}  // namespace

CellRunner::CellRunner(const Cells& cells, const Columns& columns, const Catalogue& catalogue,
                       Workers& workers, std::function<bool()> interrupted)
    : cells_(cells),
      columns_(columns),
      catalogue_(catalogue),
      workers_(workers),
      interrupted_(std::move(interrupted)) {
  for (const Axis& axis : cells.axes())
    makes_system_.push_back(std::any_of(
        axis.parameters.begin(), axis.parameters.end(), [&](const SweptParameter& swept) {
          return cells.base().own.find(swept.name()) != nullptr || is_of_setting(swept.name());
        }));
}

bool CellRunner::same_system(std::uint64_t a, std::uint64_t b) const {
  const std::vector<std::size_t> here = cells_.places(a), there = cells_.places(b);
  for (std::size_t axis = 0; axis < here.size(); ++axis)
    if (makes_system_[axis] && here[axis] != there[axis]) return false;
  return true;
}

template <class Make>
bool CellRunner::accepted(std::uint64_t number, Make make) const {
  const bool keep_going = cells_.sweep().options.flag("keep-going");
  try {
    naming_cell(cells_, number, make);
    return true;
  } catch (const UsageError&) {
    if (!keep_going) throw;
  } catch (const InputError&) {
    if (!keep_going) throw;
  }
  return false;
}

void CellRunner::enter(std::uint64_t number) {
  if (current_ && current_->number == number) return;
  Current next{number, false, cells_.base()};
  next.refused = !accepted(number, [&] { make(next); });
  current_ = std::move(next);
}

std::unique_ptr<Driver> CellRunner::driver(std::uint64_t run) {
  if (current_->refused) return nullptr;
  std::unique_ptr<Driver> driver;
  current_->refused = !accepted(current_->number, [&] {
    driver = make_driver(*current_->system, workers_, current_->config.options,
                         static_cast<std::uint32_t>(run), {interrupted_, {}});
  });
  return driver;
}

void CellRunner::make(Current& next) {
  cells_.set(next.config, next.number);
  settle_run(next.config.options);
  settle_steps(next.config.options);
  if (current_ && current_->system && same_system(current_->number, next.number)) {
    next.system = std::move(current_->system);
    next.config.own = std::move(current_->config.own);
    current_.reset();
  } else {
    Made made = make_system(next.config, catalogue_, workers_);
    next.system = std::move(made.system);
    next.config.own = std::move(made.own);
  }
  settle_end(next.config.options, *next.system);
  next.schedule = make_schedule(next.config.options, next.config.options.real("t-end"));
  const std::vector<EventInfo>& known = columns_.info.events;
  for (const std::string& name : next.system->shape().events)
    next.events.push_back(static_cast<std::size_t>(
        std::find_if(known.begin(), known.end(),
                     [&](const EventInfo& event) { return event.name == name; }) -
        known.begin()));
}

bool CellRunner::compute(std::uint64_t number, std::uint64_t run, std::span<double> run_row,
                         std::span<double> cell_row) {
  enter(number);
  const Current& cell = *current_;
  std::fill(run_row.begin(), run_row.end(), std::nan(""));
  const std::unique_ptr<Driver> driver = this->driver(run);
  write_cell(cell_row);
  if (!driver) {
    run_row[columns_.status] = static_cast<double>(CellStatus::refused);
    return true;
  }
  Outcome outcome;
  for (std::size_t save = 0; save < cell.schedule.size(); ++save) {
    outcome = driver->advance(cell.schedule[save]);
    if (outcome.kind == Outcome::Kind::interrupted) return false;
    const bool reached = outcome.kind == Outcome::Kind::reached;
    // As in a run's file: one that stops early has its last values in the first save that it did
    // not reach.
    if (reached || save == 0 || cell.schedule[save - 1] != driver->time())
      write_save(*driver, save, run_row, cell_row);
    if (!reached) break;
  }
  write_end(*driver, outcome, run_row);
  write_state(*driver, run_row);
  return true;
}

void CellRunner::write_save(const Driver& driver, std::size_t save, std::span<double> run_row,
                            std::span<double> cell_row) const {
  if (!columns_.series || save >= columns_.saves) return;
  std::vector<double> values(columns_.info.observables.size());
  current_->system->observe(driver.view(), driver.time(), values);
  for (std::size_t i = 0; i < values.size(); ++i)
    run_row[columns_.series_at + i * columns_.saves + save] = values[i];
  if (columns_.own_times && !cells_.noisy()) cell_row[columns_.cell_times + save] = driver.time();
}

void CellRunner::write_end(const Driver& driver, const Outcome& outcome,
                           std::span<double> row) const {
  const System& system = *current_->system;
  const Capabilities can = system.capabilities();
  row[columns_.stop_time] = driver.time();
  row[columns_.status] = static_cast<double>(cell_status(outcome.kind));
  row[columns_.accepted_steps] = static_cast<double>(driver.statistics().accepted);
  if (!columns_.info.outcomes.empty()) row[columns_.outcome] = 0;
  if (!columns_.info.outcomes.empty() && can.outcomes) {
    const std::string word = can.outcomes->outcome(driver.view(), driver.time());
    for (std::size_t i = 0; i < columns_.info.outcomes.size(); ++i)
      if (columns_.info.outcomes[i].word == word)
        row[columns_.outcome] = static_cast<double>(i + 1);
  }
  system.observe(driver.view(), driver.time(),
                 row.subspan(columns_.observables, columns_.info.observables.size()));
  for (const FoundEvent& event : driver.events())
    row[columns_.events + current_->events[event.event]] = event.time;
  if (columns_.has_finals && system.shape().finals && ended_well(cell_status(outcome.kind)))
    can.final_values->final_values(driver.view(), driver.time(),
                                   row.subspan(columns_.finals, columns_.info.finals.size()));
}

void CellRunner::write_state(const Driver& driver, std::span<double> row) const {
  const System& system = *current_->system;
  // A cell whose states have another shape than the others' keeps none.
  if (!columns_.passage_names.empty() && system.shape().passages == columns_.passage_names &&
      driver.passages().size() == columns_.fields - columns_.passages)
    std::copy(driver.passages().begin(), driver.passages().end(),
              row.begin() + static_cast<std::ptrdiff_t>(columns_.passages));
  if (columns_.field_names.empty() || system.shape().fields != columns_.field_names) return;
  for (const Column& column : columns_.of_run.columns) {
    if (column.begin < columns_.fields || column.begin >= columns_.fields_end) continue;
    if (system.shape().size_of(column.spec.dimensions) != column.width) continue;
    system.field(column.spec.name, driver.view(), driver.time(),
                 [&](std::size_t first, std::span<const double> values) {
                   std::copy(values.begin(), values.end(),
                             row.begin() + static_cast<std::ptrdiff_t>(column.begin + first));
                 });
  }
}

void CellRunner::write_cell(std::span<double> row) const {
  std::fill(row.begin(), row.end(), std::nan(""));
  const Current& cell = *current_;
  if (columns_.has_seed)
    row[columns_.seed] = static_cast<double>(cell.config.options.integer("seed"));
  if (cell.refused) return;
  for (std::size_t i = 0; i < columns_.constant_names.size(); ++i)
    for (const auto& [name, value] : cell.system->shape().constants)
      if (name == columns_.constant_names[i]) row[columns_.constants + i] = value;
  if (!columns_.own_times) return;
  std::copy_n(cell.schedule.begin(), std::min(cell.schedule.size(), columns_.saves),
              row.begin() + static_cast<std::ptrdiff_t>(columns_.cell_times));
}

}  // namespace popflow
