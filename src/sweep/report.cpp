#include "sweep/report.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>
#include <sstream>

#include "engine/status.hpp"
#include "options/tokens.hpp"
#include "plan/plan.hpp"
#include "popflow/error.hpp"
#include "report/csv.hpp"
#include "run/last_state.hpp"
#include "sweep/cells.hpp"
#include "sweep/columns.hpp"
#include "sweep/layout.hpp"
#include "sweep/sweep.hpp"
#include "sweep/values.hpp"
#include "text/text.hpp"
#include "training/training_plan.hpp"

namespace popflow {

namespace {

using text::rounded;
using Rows = std::vector<std::vector<std::string>>;

constexpr std::size_t kTableRows = 20;
constexpr std::size_t kTableColumns = 8;

/// Returns some of n places, including both ends.
std::vector<std::size_t> sample_places(std::size_t n, std::size_t most) {
  std::vector<std::size_t> places;
  const std::size_t count = std::min(n, most);
  for (std::size_t i = 0; i < count; ++i)
    places.push_back(count == 1 ? 0 : i * (n - 1) / (count - 1));
  return places;
}

/// Formats a place of an axis for a table.
std::string place_text(const Axis& axis, std::size_t i) {
  std::vector<std::string> words;
  for (const SweptParameter& swept : axis.parameters)
    words.push_back(swept.is_number() ? rounded(swept.numbers[i]) : swept.words[i]);
  return text::join(words, ", ");
}

/// Returns whether the values of each parameter increase, or decrease. Sampled and listed ones need
/// not; words have no order.
bool in_order(const Axis& axis) {
  return std::ranges::all_of(axis.parameters, [](const SweptParameter& swept) {
    return !swept.is_number() || std::ranges::is_sorted(swept.numbers) ||
           std::ranges::is_sorted(swept.numbers, std::greater());
  });
}

/// Returns "0.1 to 0.9", minimum and maximum; for words, their number.
std::string range_text(const SweptParameter& swept) {
  if (!swept.is_number()) return std::to_string(swept.words.size()) + " words";
  const auto [least, most] = std::ranges::minmax(swept.numbers);
  return rounded(least) + " to " + rounded(most);
}

/// Returns "2 values, (0.1, 0.3) and (0.2, 0.4)", or "64 values within 0.1 to 0.9, 0.2 to 0.8".
std::string describe_axis(const Axis& axis) {
  const auto place = [&](std::size_t i) {
    return axis.parameters.size() == 1 ? place_text(axis, i) : "(" + place_text(axis, i) + ")";
  };
  const std::size_t n = axis.size();
  if (n == 1) return place(0);
  if (n > 2 && !in_order(axis)) {
    std::vector<std::string> ranges;
    for (const SweptParameter& swept : axis.parameters) ranges.push_back(range_text(swept));
    return std::to_string(n) + " values within " + text::join(ranges, ", ");
  }
  return std::to_string(n) + " values, " + place(0) + (n == 2 ? " and " : " to ") + place(n - 1);
}

std::string axis_names(const Axis& axis) {
  std::vector<std::string> names;
  for (const SweptParameter& swept : axis.parameters) names.push_back(swept.name());
  return text::join(names, ", ");
}

std::string table(const DataFile& file, const Cells& cells, const std::string& of) {
  const auto& axes = cells.axes();
  if (axes.empty() || axes.size() > 2 || !cells.shard().whole()) return "";
  const SweepValues values(file, of, cells);
  const std::size_t each = values.size() / static_cast<std::size_t>(cells.whole());
  const std::string title =
      "\n" + of + (each > 1 ? " (median or most frequent word over the runs)" : "") + " by " +
      axis_names(axes[0]) +
      (axes.size() == 2 ? " (down) and " + axis_names(axes[1]) + " (across)" : "") + "\n";
  Rows rows;
  const std::size_t across = axes.size() == 2 ? axes[1].size() : 1;
  const std::vector<std::size_t> columns = sample_places(across, kTableColumns);
  if (axes.size() == 2) {
    rows.push_back({""});
    for (const std::size_t j : columns) rows.back().push_back(place_text(axes[1], j));
  }
  for (const std::size_t i : sample_places(axes[0].size(), kTableRows)) {
    rows.push_back({place_text(axes[0], i)});
    for (const std::size_t j : columns)
      rows.back().push_back(values.together((i * across + j) * each, each));
  }
  return title + text::columns(rows);
}

/// Describes in how many runs an event happened; runs that diverged are left out and counted
/// separately.
std::string events_line(const DataFile& file, const Cells& cells, const std::string& event,
                        const SweepValues& status) {
  const SweepValues times(file, "time_of_" + event, cells);
  if (times.size() != status.size())
    throw InputError("'" + file.path() + "' is damaged: time_of_" + event + " has " +
                     std::to_string(times.size()) + " elements, but status has " +
                     std::to_string(status.size()));
  std::size_t counted = 0, happened = 0, diverged = 0;
  for (std::size_t i = 0; i < status.size(); ++i) {
    const auto word = static_cast<Status>(static_cast<int>(status.number(i)));
    if (word == Status::missing || word == Status::refused) continue;
    if (word == Status::diverged) {
      ++diverged;
      continue;
    }
    ++counted;
    happened += std::isnan(times.number(i)) ? 0 : 1;
  }
  std::string line = "in " + std::to_string(happened) + " of " + std::to_string(counted) +
                     (cells.noisy() ? " runs" : " cells");
  if (diverged > 0) line += "; " + std::to_string(diverged) + " that diverged are left out";
  return line;
}

/// Returns whether the sweep used lanes for a cell's flow. The use of lanes depends on sizes. A
/// training rule increases them, and a problem file may contain them (if it can still be read).
bool used_lanes(const RunConfig& config, const Catalogue& catalogue) {
  const Plan plan = plan_of(config.options);
  if (plan.problem.file || plan.training) {
    try {
      Workers workers(1);
      const std::unique_ptr<System> system = make_system(config, catalogue, workers).system;
      const Plan whole = completed(plan, *system, nullptr, Context::in_sweep);
      return std::get<FlowPlan>(whole.mode).lanes;
    } catch (const Error&) {
    }
  }
  return cell_in_lanes(std::get<FlowPlan>(plan.mode), catalogue.info(config.system), config.own);
}

}  // namespace

std::string describe_sweep(const DataFile& file, const Catalogue& catalogue,
                           const std::string& of) {
  if (kind_of(file) != FileKind::sweep)
    throw InputError("'" + file.path() + "' is not a sweep of popflow");
  const Cells cells(sweep_config(file, catalogue));
  const auto attribute = [&](const char* object, const char* name) {
    return file.text_attribute(object, name).value_or("");
  };
  const std::vector<std::string> names = numbers_of_cells(file, cells);
  if (!of.empty()) options::require_one_of("--of", of, names);
  Rows rows = {{"system", attribute("", "system") + ", mode " + attribute("", "mode")}};
  for (const Axis& axis : cells.axes())
    rows.push_back({"axis", axis_names(axis) + ": " + describe_axis(axis)});
  rows.push_back(
      {"cells", std::to_string(cells.size()) +
                    (cells.shard().whole() ? ""
                                           : " of " + std::to_string(cells.whole()) + ", shard " +
                                                 cells.sweep().options.word("shard")) +
                    (cells.runs() > 1 ? ", " + std::to_string(cells.runs()) + " runs each" : "")});
  rows.push_back({"status", attribute("", "status") + ": " + StatusCounts(file).text()});
  const SweepValues status(file, "status", cells);
  for (const EventInfo& event : catalogue.info(cells.sweep().system).events)
    if (file.has_dataset("time_of_" + event.name))  // a reduced sweep has no such variable
      rows.push_back({event.name, events_line(file, cells, event.name, status)});
  const auto wall_time = file.number_attribute("provenance", "wall_time");
  if (wall_time && *wall_time > 0) rows.push_back({"wall time", text::measured(*wall_time)});
  rows.push_back({"file", file.path()});
  return text::columns(rows, 0) + table(file, cells, of.empty() ? main_variable(file, names) : of);
}

std::string describe_cell(const DataFile& file, const Catalogue& catalogue,
                          const std::string& program, const std::string& words) {
  if (kind_of(file) != FileKind::sweep)
    throw UsageError("--cell applies to files of sweeps only; " + file.path() + " is not a sweep");
  const Cells cells(sweep_config(file, catalogue));
  const std::uint64_t number = cells.find(words);
  RunConfig config = cells.config(number);
  if (!cells.noisy())
    config.options.resolve("kernel",
                           std::string(used_lanes(config, catalogue) ? "lanes" : "scalar"));
  std::string command = program + " run " + config.system;
  for (const Parameters* table : {&config.own, &config.options}) {
    for (const Parameter& row : table->table()) {
      const bool seed = row.name == "seed" && cells.own_seeds();
      // With the kernel given, `run` integrates a single flow in lanes, as the sweep did.
      const bool lanes = row.name == "kernel" && table->text(row.name) == "lanes";
      if (!decides_numbers(row.name) || (!table->given(row.name) && !seed && !lanes)) continue;
      if (row.kind == Kind::flag) {
        if (table->flag(row.name)) command += " --" + row.name;
        continue;
      }
      command += " --" + row.name + " " + options::shell_quoted(table->text(row.name));
    }
  }
  std::uint64_t place = number;
  if (!cells.shard().whole()) {
    place = 0;
    while (place < cells.size() && cells.number(place) != number) ++place;
    if (place == cells.size()) return command + "\n\nthis cell is in another shard\n";
  }
  Rows rows;
  for (const std::string& name : numbers_of_cells(file, cells)) {
    const SweepValues values(file, name, cells);
    const std::size_t each = values.size() / static_cast<std::size_t>(cells.size());
    const std::size_t first = static_cast<std::size_t>(place) * each;
    if (each == 1) {
      rows.push_back({name, values.rounded(first), ""});
      continue;
    }
    const std::size_t counted = values.counted(first, each);
    rows.push_back({name, values.together(first, each),
                    (values.words().empty() ? "median of " : "most frequent of ") +
                        (counted < each ? std::to_string(counted) + " of " : "") +
                        std::to_string(each) + " runs"});
  }
  return command + "\n\n" + text::columns(rows, 0);
}

void write_sweep_csv(const DataFile& file, const Catalogue& catalogue, std::ostream& out) {
  const Cells cells(sweep_config(file, catalogue));
  const std::vector<std::string> names = numbers_of_cells(file, cells);
  std::vector<SweepValues> values;
  bool runs = false;
  for (const std::string& name : names) {
    values.emplace_back(file, name, cells);
    runs = runs || values.back().size() != cells.size();
  }
  std::string line;
  for (const Axis& axis : cells.axes())
    for (const SweptParameter& swept : axis.parameters) line += as_identifier(swept.name()) + ",";
  if (runs) line += "run,";
  out << line << text::join(names, ",") << '\n';
  const std::uint64_t each = runs ? cells.runs() : 1;
  for (std::uint64_t cell = 0; cell < cells.size(); ++cell) {
    const std::vector<std::size_t> place = cells.places(cells.number(cell));
    std::string axes;
    for (std::size_t axis = 0; axis < place.size(); ++axis)
      for (const SweptParameter& swept : cells.axes()[axis].parameters)
        axes += csv_cell(swept.text(place[axis])) + ",";
    for (std::uint64_t run = 0; run < each; ++run) {
      line = axes;
      if (runs) line += std::to_string(run) + ",";
      for (std::size_t i = 0; i < values.size(); ++i) {
        const bool of_run = values[i].size() != cells.size() || !runs;
        line += (i == 0 ? "" : ",") + csv_cell(values[i].exact(of_run ? cell * each + run : cell));
      }
      out << line << '\n';
    }
  }
}

}  // namespace popflow
