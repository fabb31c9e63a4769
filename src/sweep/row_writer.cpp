#include "sweep/row_writer.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/outcome_index.hpp"
#include "engine/status.hpp"
#include "flow/watched.hpp"

namespace popflow {

RowWriter::RowWriter(const SweepColumns& columns, const SweptSystem& of, std::span<double> run_row,
                     std::span<double> cell_row)
    : columns_(columns), of_(of), row_(run_row), cell_row_(cell_row) {
  if (!columns_.series || !columns_.of_rule.empty()) return;
  const ObservesInLanes* const in_lanes = observes_in_lanes(*of_.system);
  if (in_lanes == nullptr) return;
  held_ = std::make_unique<Held>(Held{*in_lanes, LaneRows(of_.system->shape().state_size()),
                                      LaneRows(1), LaneRows(columns_.info.observables.size())});
}

void RowWriter::save(std::size_t i, double t, StateView x) {
  if (!columns_.series || i >= columns_.saves) return;
  if (columns_.own_times && !columns_.noisy) cell_row_[columns_.cell_times + i] = t;
  if (held_) return hold(i, t, x);
  std::vector<double> values(columns_.info.observables.size() + columns_.of_rule.size());
  observe(t, x, values);
  for (std::size_t k = 0; k < values.size(); ++k)
    row_[columns_.series_at + k * columns_.saves + i] = values[k];
}

void RowWriter::hold(std::size_t i, double t, StateView x) {
  Held& held = *held_;
  if (held.size == 0) held.first = i;
  held.x.write(held.size, x);
  held.t.at(0, held.size) = t;
  ++held.size;
  if (held.size == kLanes || i + 1 == columns_.saves) observe_held();
}

void RowWriter::observe_held() {
  if (!held_ || held_->size == 0) return;
  Held& held = *held_;
  for (std::size_t lane = held.size; lane < kLanes; ++lane) {  // free lanes repeat the last state
    for (std::size_t i = 0; i < held.x.rows(); ++i) held.x.at(i, lane) = held.x.at(i, lane - 1);
    held.t.at(0, lane) = held.t.at(0, lane - 1);
  }
  held.system.observe_lanes(held.x.data(), held.t.data(), held.values.data());
  for (std::size_t k = 0; k < columns_.info.observables.size(); ++k)
    std::copy_n(held.values.data() + k * kLanes, held.size,
                row_.begin() + static_cast<std::ptrdiff_t>(columns_.series_at + k * columns_.saves +
                                                           held.first));
  held.size = 0;
}

void RowWriter::finish(const Outcome& outcome, const Driver& driver) {
  observe_held();  // a run may have fewer saves than the file has places
  const System& system = *of_.system;
  const Status status = status_of(outcome.kind);
  row_[columns_.stop_time] = driver.time();
  row_[columns_.status] = static_cast<double>(status);
  row_[columns_.accepted_steps] = static_cast<double>(driver.statistics().accepted);
  if (!columns_.info.outcomes.empty()) row_[columns_.outcome] = 0;
  if (!columns_.info.outcomes.empty() && of_.outcomes != nullptr)
    row_[columns_.outcome] = static_cast<double>(
        outcome_index(columns_.info, of_.outcomes->outcome(driver.view(), driver.time())));
  observe(driver.time(), driver.view(),
          row_.subspan(columns_.observables, columns_.events - columns_.observables));
  const std::vector<EventInfo>& events = columns_.info.events;
  for (const FoundEvent& found : driver.events())
    for (std::size_t i = 0; i < events.size(); ++i)
      if (events[i].name == system.shape().events[found.event])
        row_[columns_.events + i] = found.time;
  if (columns_.has_finals && system.shape().finals && ended_well(status))
    of_.final_values->final_values(driver.view(), driver.time(),
                                   row_.subspan(columns_.finals, columns_.info.finals.size()));
  write_state(driver);
}

void RowWriter::observe(double t, StateView x, std::span<double> values) const {
  const std::size_t observables = columns_.info.observables.size();
  of_.system->observe(x, t, values.first(observables));
  if (columns_.of_rule.empty()) return;
  std::fill(values.begin() + static_cast<std::ptrdiff_t>(observables), values.end(), std::nan(""));
  const std::span<const ObservableInfo> of_rule = numbers_of_rule(*of_.system);
  if (!of_rule.empty() && of_rule.front().name == columns_.of_rule.front().name)
    watched(*of_.system)->rule_numbers(t, values.subspan(observables));
}

void RowWriter::write_state(const Driver& driver) {
  const System& system = *of_.system;
  // A cell keeps no states if their shape differs from that in the other cells.
  if (!columns_.passage_names.empty() && system.shape().passages == columns_.passage_names &&
      driver.passages().size() == columns_.fields - columns_.passages)
    std::copy(driver.passages().begin(), driver.passages().end(),
              row_.begin() + static_cast<std::ptrdiff_t>(columns_.passages));
  if (columns_.field_names.empty() || system.shape().fields != columns_.field_names) return;
  for (const std::size_t place : columns_.of_fields) {
    const Column& column = columns_.of_run.columns[place];
    if (system.shape().size_of(column.spec.dimensions) != column.width) continue;
    const auto sink = [&](std::size_t first, std::span<const double> values) {
      if (first > column.width || values.size() > column.width - first)
        throw std::logic_error("the system " + system.info().name + " delivers " +
                               std::to_string(first + values.size()) + " numbers of " +
                               column.spec.name + ", which must have " +
                               std::to_string(column.width));
      std::copy(values.begin(), values.end(),
                row_.begin() + static_cast<std::ptrdiff_t>(column.begin + first));
    };
    system.field(column.spec.name, driver.view(), driver.time(), std::cref(sink));
  }
}

void mark_refused(const SweepColumns& columns, std::span<double> run_row) {
  std::fill(run_row.begin(), run_row.end(), std::nan(""));
  run_row[columns.status] = static_cast<double>(Status::refused);
}

}  // namespace popflow
