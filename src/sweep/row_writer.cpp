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

void RowWriter::save(std::size_t i, const Driver& driver) {
  if (!columns_.series || i >= columns_.saves) return;
  std::vector<double> values(columns_.info.observables.size() + columns_.of_rule.size());
  observe(driver, values);
  for (std::size_t k = 0; k < values.size(); ++k)
    row_[columns_.series_at + k * columns_.saves + i] = values[k];
  if (columns_.own_times && !columns_.noisy) cell_row_[columns_.cell_times + i] = driver.time();
}

void RowWriter::finish(const Outcome& outcome, const Driver& driver) {
  const System& system = *of_.system;
  const Status status = status_of(outcome.kind);
  row_[columns_.stop_time] = driver.time();
  row_[columns_.status] = static_cast<double>(status);
  row_[columns_.accepted_steps] = static_cast<double>(driver.statistics().accepted);
  if (!columns_.info.outcomes.empty()) row_[columns_.outcome] = 0;
  if (!columns_.info.outcomes.empty() && of_.outcomes != nullptr)
    row_[columns_.outcome] = static_cast<double>(
        outcome_index(columns_.info, of_.outcomes->outcome(driver.view(), driver.time())));
  observe(driver, row_.subspan(columns_.observables, columns_.events - columns_.observables));
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

void RowWriter::observe(const Driver& driver, std::span<double> values) const {
  const std::size_t observables = columns_.info.observables.size();
  of_.system->observe(driver.view(), driver.time(), values.first(observables));
  if (columns_.of_rule.empty()) return;
  std::fill(values.begin() + static_cast<std::ptrdiff_t>(observables), values.end(), std::nan(""));
  const std::span<const ObservableInfo> of_rule = numbers_of_rule(*of_.system);
  if (!of_rule.empty() && of_rule.front().name == columns_.of_rule.front().name)
    watched(*of_.system)->rule_numbers(driver.time(), values.subspan(observables));
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
