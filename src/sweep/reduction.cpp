#include "sweep/reduction.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/described.hpp"
#include "engine/specs.hpp"
#include "engine/status.hpp"
#include "numerics/median.hpp"

namespace popflow {

namespace {

struct Statistic {
  const char* suffix;
  const char* meaning;
};
constexpr std::array<Statistic, 5> kStatistics = {
    {{"_mean", "mean of "},
     {"_mean_error", "standard error of the mean of "},
     {"_std", "standard deviation of "},
     {"_least", "least of "},
     {"_largest", "largest of "}}};

std::string text_of(const VariableSpec& spec) {
  for (const Attribute& attribute : spec.attributes)
    if (attribute.name == "long_name") return std::get<std::string>(attribute.value);
  return spec.name;
}

/// Returns the status of runs that ended in several ways: a limit takes precedence; runs of which
/// some were stopped and others reached the end are complete together.
Status mixed(const std::vector<std::uint64_t>& counts) {
  for (const Status limit : {Status::step_limit, Status::underflow, Status::stuck})
    if (counts[static_cast<std::size_t>(limit)] > 0) return limit;
  return Status::complete;
}

}  // namespace

Reduction::Reduction(const SweepColumns& columns, std::uint64_t runs)
    : columns_(columns), runs_(runs) {
  status_ = of_cell_.add(status_of_runs(
      {}, "how the cell's runs ended: all alike, at a limit if any did, or complete"));
  counts_ = of_cell_.add(
      variable("status_count", {"status_word"}, "runs that ended so", NumberType::int64),
      run_status_words().size());
  const SystemInfo& info = columns.info;
  outcomes_ = of_cell_.width;
  if (!info.outcomes.empty()) {
    for (const std::string& word : outcome_words(info))
      of_cell_.add(variable("fraction_of_" + word, {},
                            "fraction of the runs that did not diverge whose outcome is " + word));
  }
  events_ = of_cell_.width;
  for (const EventInfo& event : info.events) {
    of_cell_.add(variable("fraction_of_" + event.name, {},
                          "fraction of the runs that did not diverge in which: " + event.meaning));
    of_cell_.add(variable("median_time_of_" + event.name, {},
                          "median flow time, among these runs, of: " + event.meaning));
  }
  const auto reduce = [&](const Column& column) {
    Reduced reduced{column.begin, column.width, of_cell_.width};
    for (const Statistic& statistic : kStatistics) {
      VariableSpec spec = column.spec;
      spec.name += statistic.suffix;
      for (Attribute& attribute : spec.attributes)
        if (attribute.name == "long_name")
          attribute.value = statistic.meaning + text_of(column.spec);
      of_cell_.add(std::move(spec), column.width);
    }
    values_ += column.width;
    reduced_.push_back(reduced);
  };
  for (const Column& column : columns.of_run.columns) {
    const bool observable = column.begin >= columns.observables && column.begin < columns.events;
    const bool final = columns.has_finals && column.begin >= columns.finals &&
                       column.begin < columns.finals + info.finals.size();
    const bool in_series = columns.series && column.begin >= columns.series_at;
    if (observable || final || in_series) reduce(column);
  }
}

DimensionSpec Reduction::status_words() const {
  DimensionSpec words;
  words.name = "status_word";
  words.size = run_status_words().size();
  words.coordinate = DimensionSpec::Coordinate::flags;
  words.attributes = flags(words.name, {}, "how a run ended", run_status_words()).attributes;
  return words;
}

Reduction::Cell::Cell(const Reduction& reduction)
    : reduction_(reduction),
      moments_(reduction.values_),
      statuses_(run_status_words().size()),
      outcomes_(reduction.columns_.info.outcomes.empty()
                    ? 0
                    : reduction.columns_.info.outcomes.size() + 1),
      event_times_(reduction.columns_.info.events.size()) {}

void Reduction::Cell::add(std::uint64_t first, std::span<const double> rows) {
  if (first != next_) {
    early_.emplace(first, std::vector<double>(rows.begin(), rows.end()));
    return;
  }
  const std::size_t width = reduction_.columns_.of_run.width;
  for (std::size_t at = 0; at < rows.size(); at += width) add_run(rows.subspan(at, width));
  for (auto next = early_.find(next_); next != early_.end(); next = early_.find(next_)) {
    const std::vector<double> waiting = std::move(next->second);
    early_.erase(next);
    for (std::size_t at = 0; at < waiting.size(); at += width)
      add_run(std::span(waiting).subspan(at, width));
  }
}

void Reduction::Cell::add_run(std::span<const double> row) {
  const SweepColumns& columns = reduction_.columns_;
  ++next_;
  const auto status = static_cast<Status>(static_cast<int>(row[columns.status]));
  ++statuses_[static_cast<std::size_t>(status)];
  if (status == Status::diverged || status == Status::refused) return;
  if (!outcomes_.empty()) ++outcomes_[static_cast<std::size_t>(row[columns.outcome])];
  for (std::size_t event = 0; event < event_times_.size(); ++event)
    if (!std::isnan(row[columns.events + event]))
      event_times_[event].push_back(row[columns.events + event]);
  if (!ended_well(status)) return;
  ++well_;
  std::size_t place = 0;
  for (const Reduced& reduced : reduction_.reduced_) {
    for (std::size_t i = 0; i < reduced.width; ++i) {
      Moments& moments = moments_[place++];
      const double value = row[reduced.from + i];
      // A NaN remains, as in the mean.
      if (well_ == 1 || std::isnan(value)) moments.least = moments.largest = value;
      // Welford's recurrence: avoids the cancellation in a sum of squares.
      const double off = value - moments.mean;
      moments.mean += off / static_cast<double>(well_);
      moments.squares += off * (value - moments.mean);
      moments.least = std::min(moments.least, value);
      moments.largest = std::max(moments.largest, value);
    }
  }
}

void Reduction::Cell::write(std::span<double> row) const {
  std::fill(row.begin(), row.end(), std::nan(""));
  const auto all_alike = std::find(statuses_.begin(), statuses_.end(), next_);
  row[reduction_.status_] = all_alike != statuses_.end()
                                ? static_cast<double>(all_alike - statuses_.begin())
                                : static_cast<double>(mixed(statuses_));
  for (std::size_t i = 0; i < statuses_.size(); ++i)
    row[reduction_.counts_ + i] = static_cast<double>(statuses_[i]);
  const std::uint64_t left_out = statuses_[static_cast<std::size_t>(Status::diverged)] +
                                 statuses_[static_cast<std::size_t>(Status::refused)];
  const auto counted = static_cast<double>(next_ - left_out);
  for (std::size_t i = 0; i < outcomes_.size() && counted > 0; ++i)
    row[reduction_.outcomes_ + i] = static_cast<double>(outcomes_[i]) / counted;
  for (std::size_t event = 0; event < event_times_.size() && counted > 0; ++event) {
    const std::size_t to = reduction_.events_ + 2 * event;
    row[to] = static_cast<double>(event_times_[event].size()) / counted;
    row[to + 1] = median(event_times_[event]);
  }
  if (well_ == 0) return;
  const auto n = static_cast<double>(well_);
  std::size_t place = 0;
  for (const Reduced& reduced : reduction_.reduced_) {
    for (std::size_t i = 0; i < reduced.width; ++i) {
      const Moments& moments = moments_[place++];
      const double deviation = well_ > 1 ? std::sqrt(moments.squares / (n - 1)) : std::nan("");
      const std::array<double, 5> statistics = {moments.mean, deviation / std::sqrt(n), deviation,
                                                moments.least, moments.largest};
      for (std::size_t k = 0; k < statistics.size(); ++k)
        row[reduced.to + k * reduced.width + i] = statistics[k];
    }
  }
}

}  // namespace popflow
