#include "sweep/report.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <ostream>
#include <sstream>

#include "options/tokens.hpp"
#include "popflow/error.hpp"
#include "sweep/cells.hpp"
#include "sweep/columns.hpp"
#include "sweep/layout.hpp"
#include "sweep/sweep.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

using text::rounded;
using Rows = std::vector<std::vector<std::string>>;

constexpr std::size_t kTableRows = 20;
constexpr std::size_t kTableColumns = 8;

/// A variable with one number a cell or run, and how its numbers are shown.
class Values {
 public:
  Values(const DataFile& file, const std::string& name) {
    const DataArray array = file.read(name);
    numbers_ = array.values;
    whole_ = !array.integers.empty();
    words_ = text::split_words(file.text_attribute(name, "flag_meanings").value_or(""));
  }
  [[nodiscard]] std::size_t size() const { return numbers_.size(); }
  [[nodiscard]] bool has_words() const { return !words_.empty(); }
  [[nodiscard]] double number(std::size_t i) const { return numbers_[i]; }

  /// To the last bit.
  [[nodiscard]] std::string exact(std::size_t i) const { return shown(i, false); }
  [[nodiscard]] std::string brief(std::size_t i) const { return shown(i, true); }

  /// What some runs of a cell have together: the commonest word, or the median.
  [[nodiscard]] std::string together(std::size_t first, std::size_t count) const {
    if (count == 1) return brief(first);
    if (has_words()) {
      std::map<std::string, std::size_t> counts;
      for (std::size_t i = first; i < first + count; ++i) ++counts[brief(i)];
      const auto most = std::max_element(counts.begin(), counts.end(),
                                         [](auto& a, auto& b) { return a.second < b.second; });
      if (most->second == count) return most->first;
      return most->first + " " + std::to_string(100 * most->second / count) + "%";
    }
    std::vector<double> finite;
    for (std::size_t i = first; i < first + count; ++i)
      if (!std::isnan(numbers_[i])) finite.push_back(numbers_[i]);
    if (finite.empty()) return "-";
    const auto middle = finite.begin() + static_cast<std::ptrdiff_t>(finite.size() / 2);
    std::nth_element(finite.begin(), middle, finite.end());
    return rounded(*middle);
  }

 private:
  [[nodiscard]] std::string shown(std::size_t i, bool brief) const {
    const double value = numbers_[i];
    if (std::isnan(value)) return brief ? "-" : "nan";
    if (has_words() && value < 0) return brief ? "-" : "missing";
    if (has_words() && value >= 0 && value < static_cast<double>(words_.size()))
      return words_[static_cast<std::size_t>(value)];
    if (whole_) return std::to_string(static_cast<std::int64_t>(value));
    return brief ? rounded(value) : shortest(value);
  }
  std::vector<double> numbers_;
  std::vector<std::string> words_;
  bool whole_ = false;
};

/// Variables with one number a cell or, beyond that, a run.
std::vector<std::string> single_numbers(const DataFile& file, const Cells& cells) {
  const std::vector<std::string> of_cell = cell_dimensions(cells);
  std::vector<std::string> of_run = of_cell;
  of_run.push_back("run");
  std::vector<std::string> names;
  for (const std::string& name : file.members("/")) {
    if (!file.has_dataset(name)) continue;
    const std::vector<std::string> dimensions = file.dimensions(name);
    const bool coordinate = dimensions.size() == 1 && dimensions[0] == name;
    bool swept = false;
    for (const Axis& axis : cells.axes())
      for (const SweptParameter& parameter : axis.parameters)
        swept = swept || as_identifier(parameter.name()) == name;
    if (!coordinate && !swept && (dimensions == of_cell || dimensions == of_run))
      names.push_back(name);
  }
  return names;
}

/// What a sweep is about if nobody says: outcomes, else when things happened, else the first
/// observable.
std::string main_variable(const std::vector<std::string>& names) {
  for (const char* first : {"outcome", "fraction_of_", "time_of_"})
    for (const std::string& name : names)
      if (name.starts_with(first) && name != "fraction_of_undecided") return name;
  for (const std::string& name : names) {
    const bool known = name == "stop_time" || name == "status" || name == "accepted_steps" ||
                       name == "seed" || name == "status_count";
    if (!known) return name;
  }
  return "status";
}

/// Some of n places, ends included.
std::vector<std::size_t> some_of(std::size_t n, std::size_t most) {
  std::vector<std::size_t> places;
  const std::size_t count = std::min(n, most);
  for (std::size_t i = 0; i < count; ++i)
    places.push_back(count == 1 ? 0 : i * (n - 1) / (count - 1));
  return places;
}

/// A place of an axis, in a table.
std::string place_text(const Axis& axis, std::size_t i) {
  std::vector<std::string> words;
  for (const SweptParameter& swept : axis.parameters)
    words.push_back(swept.is_number() ? rounded(swept.numbers[i]) : swept.words[i]);
  return text::join(words, ", ");
}

/// "p, q: 2 values, (0.1, 0.3) to (0.2, 0.4)"
std::string describe_axis(const Axis& axis) {
  const auto place = [&](std::size_t i) {
    return axis.parameters.size() == 1 ? place_text(axis, i) : "(" + place_text(axis, i) + ")";
  };
  const std::size_t n = axis.size();
  if (n == 1) return place(0);
  // Sampled or listed values need not grow.
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
  const Values values(file, of);
  const std::size_t each = values.size() / static_cast<std::size_t>(cells.whole());
  const std::string title =
      "\n" + of + (each > 1 ? " (of the runs: the median, or the commonest)" : "") + " by " +
      axis_names(axes[0]) +
      (axes.size() == 2 ? " (down) and " + axis_names(axes[1]) + " (across)" : "") + "\n";
  Rows rows;
  const std::size_t across = axes.size() == 2 ? axes[1].size() : 1;
  const std::vector<std::size_t> columns = some_of(across, kTableColumns);
  if (axes.size() == 2) {
    rows.push_back({""});
    for (const std::size_t j : columns) rows.back().push_back(place_text(axes[1], j));
  }
  for (const std::size_t i : some_of(axes[0].size(), kTableRows)) {
    rows.push_back({place_text(axes[0], i)});
    for (const std::size_t j : columns)
      rows.back().push_back(values.together((i * across + j) * each, each));
  }
  return title + text::columns(rows);
}

std::string statuses(const DataFile& file) {
  const std::vector<std::string>& words = cell_status_words();
  std::vector<std::uint64_t> counts(words.size());
  for (const std::int64_t status : file.read("status").integers)
    if (status >= 0 && status < static_cast<std::int64_t>(counts.size()))
      ++counts[static_cast<std::size_t>(status)];
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (counts[i] > 0) parts.push_back(std::to_string(counts[i]) + " " + words[i]);
  return text::join(parts, ", ");
}

void require_name(const std::string& of, const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), of) == names.end())
    throw UsageError("--of is '" + of + "'; it must be one of " + text::join(names, ", ") +
                     options::suggestion(of, names));
}

/// An event's time is what it is; that the run diverged later is said.
std::string events_line(const DataFile& file, const std::string& event, const Values& status,
                        const std::string& what) {
  const Values times(file, "time_of_" + event);
  std::size_t counted = 0, happened = 0, diverged = 0;
  for (std::size_t i = 0; i < status.size(); ++i) {
    const auto word = static_cast<CellStatus>(static_cast<int>(status.number(i)));
    if (word == CellStatus::missing || word == CellStatus::refused) continue;
    if (word == CellStatus::diverged) {
      ++diverged;
      continue;
    }
    ++counted;
    happened += std::isnan(times.number(i)) ? 0 : 1;
  }
  std::string line = "in " + std::to_string(happened) + " of " + std::to_string(counted) + what;
  if (diverged > 0) line += "; " + std::to_string(diverged) + " that diverged are left out";
  return line;
}

}  // namespace

std::string describe_sweep(const DataFile& file, const Catalogue& catalogue,
                           const std::string& of) {
  if (!is_sweep(file)) throw InputError("'" + file.path() + "' is not a file of a popflow sweep");
  const Cells cells(sweep_config(file, catalogue));
  const auto attribute = [&](const char* object, const char* name) {
    return file.text_attribute(object, name).value_or("");
  };
  const std::vector<std::string> names = single_numbers(file, cells);
  if (!of.empty()) require_name(of, names);
  Rows rows = {{"system", attribute("", "system") + ", mode " + attribute("", "mode")}};
  for (const Axis& axis : cells.axes())
    rows.push_back({"axis", axis_names(axis) + ": " + describe_axis(axis)});
  rows.push_back(
      {"cells", std::to_string(cells.size()) +
                    (cells.shard().whole() ? ""
                                           : " of " + std::to_string(cells.whole()) + ", shard " +
                                                 cells.sweep().options.word("shard")) +
                    (cells.runs() > 1 ? ", " + std::to_string(cells.runs()) + " runs each" : "")});
  rows.push_back({"status", attribute("", "status") + ": " + statuses(file)});
  if (file.has_dataset("time_of_" + (catalogue.info(cells.sweep().system).events.empty()
                                         ? std::string("nothing")
                                         : catalogue.info(cells.sweep().system).events[0].name))) {
    const Values status(file, "status");
    for (const EventInfo& event : catalogue.info(cells.sweep().system).events)
      rows.push_back(
          {event.name, events_line(file, event.name, status, cells.noisy() ? " runs" : " cells")});
  }
  rows.push_back(
      {"wall time", text::measured(file.number_attribute("provenance", "wall_time").value_or(0))});
  rows.push_back({"file", file.path()});
  return text::columns(rows, 0) + table(file, cells, of.empty() ? main_variable(names) : of);
}

std::string describe_cell(const DataFile& file, const Catalogue& catalogue,
                          const std::string& program, const std::string& words) {
  if (!is_sweep(file))
    throw UsageError("--cell is for files of sweeps; " + file.path() + " is none");
  const Cells cells(sweep_config(file, catalogue));
  const std::uint64_t number = cells.find(words);
  const RunConfig config = cells.config(number);
  std::string command = program + " run " + config.system;
  for (const Parameters* table : {&config.own, &config.options}) {
    for (const Parameter& row : table->table()) {
      const bool seed = row.name == "seed" && cells.own_seeds();
      if (!describes_run(row.name) || row.name == "threads" || row.name == "checkpoint-every" ||
          (!table->given(row.name) && !seed))
        continue;
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
    if (place == cells.size()) return command + "\n\nthe cell is in another shard\n";
  }
  Rows rows;
  for (const std::string& name : single_numbers(file, cells)) {
    const Values values(file, name);
    const std::size_t each = values.size() / static_cast<std::size_t>(cells.size());
    const std::size_t first = static_cast<std::size_t>(place) * each;
    rows.push_back({name, values.together(first, each),
                    each > 1 ? (values.has_words() ? "commonest of " : "median of ") +
                                   std::to_string(each) + " runs"
                             : ""});
  }
  return command + "\n\n" + text::columns(rows, 0);
}

void write_sweep_csv(const DataFile& file, const Catalogue& catalogue, std::ostream& out) {
  const Cells cells(sweep_config(file, catalogue));
  const std::vector<std::string> names = single_numbers(file, cells);
  std::vector<Values> values;
  bool runs = false;
  for (const std::string& name : names) {
    values.emplace_back(file, name);
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
        axes += swept.text(place[axis]) + ",";
    for (std::uint64_t run = 0; run < each; ++run) {
      line = axes;
      if (runs) line += std::to_string(run) + ",";
      for (std::size_t i = 0; i < values.size(); ++i) {
        const bool of_run = values[i].size() != cells.size() || !runs;
        line += (i == 0 ? "" : ",") + values[i].exact(of_run ? cell * each + run : cell);
      }
      out << line << '\n';
    }
  }
}

}  // namespace popflow
