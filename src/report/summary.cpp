#include "report/summary.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <sstream>
#include <system_error>
#include <vector>

#include "file/text.hpp"
#include "median.hpp"
#include "popflow/error.hpp"
#include "popflow/memory.hpp"
#include "popflow/parameter.hpp"
#include "text/text.hpp"

namespace popflow {
namespace {

using text::rounded;
using Rows = std::vector<std::vector<std::string>>;

/// Bytes of one thing that a page shows: files may hold megabytes where a sentence is expected.
constexpr std::size_t kShown = 2000;

std::string shown(const std::string& text) {
  if (text.size() <= kShown) return text;
  return std::string(hdf5::cut_utf8(text, kShown)) + "...";
}

std::string attribute(const DataFile& file, const std::string& object, const std::string& name) {
  const std::string text = file.text_attribute(object, name).value_or("");
  return name == "config" ? text : shown(text);
}

void require_run(const DataFile& file) {
  if (attribute(file, "", "format") != "popflow" || !file.has_dataset("time") ||
      !file.has_dataset("saves_done")) {
    throw InputError("'" + file.path() + "' is not a file of a popflow run");
  }
}

/// A count, of all runs together.
std::optional<std::int64_t> whole_number(const DataFile& file, const std::string& name) {
  if (!file.has_dataset(name)) return std::nullopt;
  const auto counts = file.read(name).integers;
  if (counts.empty()) return std::nullopt;
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

/// How many saves hold data in every run; never more than there are.
std::size_t saves_done(const DataFile& file, std::size_t saves) {
  const std::vector<std::int64_t> done = file.read("saves_done").integers;
  const std::int64_t least = done.empty() ? 0 : *std::min_element(done.begin(), done.end());
  return static_cast<std::size_t>(std::clamp<std::int64_t>(least, 0, saves));
}

/// Number of runs, or 0 for a file of one flow.
std::size_t ensemble(const DataFile& file) {
  return file.has_dataset("run") ? file.read("run").values.size() : 0;
}

/// A variable over the saves.
std::vector<double> series(const DataFile& file, const std::string& name, std::size_t saves) {
  auto values = file.read(name).values;
  if (values.size() != saves) {
    throw InputError("'" + file.path() + "' is damaged: " + name + " has " +
                     std::to_string(values.size()) + " elements, time has " +
                     std::to_string(saves));
  }
  return values;
}

std::vector<std::string> observables(const DataFile& file) {
  return text::split_words(attribute(file, "", "observables"));
}

// ---- The rows, one function each; none where the file lacks the data.

std::string status(const DataFile& file) {
  const std::string word = attribute(file, "", "status");
  const std::string message = attribute(file, "", "status_message");
  const double diverged_at = file.number_attribute("", "diverged_at").value_or(std::nan(""));
  const std::string when =
      std::isnan(diverged_at) ? "" : " (diverged at t = " + rounded(diverged_at) + ")";
  return word + (message.empty() ? "" : ": " + message) + when;
}

std::string reached(const DataFile& file, const std::vector<double>& time, std::size_t done) {
  const double planned =
      file.number_attribute("parameters", "t-end").value_or(time.empty() ? 0 : time.back());
  const std::string at = done == 0 ? "nothing recorded" : "t = " + rounded(time[done - 1]);
  return at + " of " + rounded(planned) + ", " + std::to_string(done) + " of " +
         std::to_string(time.size()) + (time.size() == 1 ? " save" : " saves");
}

/// The same of the runs of an ensemble, which need not have come equally far.
std::string reached_by_runs(const DataFile& file, const std::vector<double>& time) {
  const std::vector<std::int64_t> done = file.read("saves_done").integers;
  const auto saves = static_cast<std::int64_t>(time.size());
  const auto all = std::count(done.begin(), done.end(), saves);
  const auto none = std::count_if(done.begin(), done.end(), [](auto n) { return n <= 0; });
  const auto least = saves_done(file, time.size());
  if (all == 0 || all == static_cast<std::ptrdiff_t>(done.size()))
    return reached(file, time, least);
  const auto rest = static_cast<std::ptrdiff_t>(done.size()) - all - none;
  return std::to_string(all) + " of " + std::to_string(done.size()) + " runs have all " +
         std::to_string(saves) + (saves == 1 ? " save" : " saves") +
         " to t = " + rounded(time.back()) +
         (rest > 0 ? ", " + std::to_string(rest) + " have some" : "") +
         (none > 0 ? ", " + std::to_string(none) + " none yet" : "");
}

/// A list of numbers by its beginning and its length.
std::string shortened(const std::string& value) {
  constexpr std::ptrdiff_t kShownOf = 3, kMost = 12;
  const auto commas = std::count(value.begin(), value.end(), ',');
  if (commas < kMost || value.find_first_not_of("0123456789.,eE+-") != std::string::npos)
    return value;
  std::size_t end = 0;
  for (std::ptrdiff_t i = 0; i < kShownOf; ++i) end = value.find(',', end) + 1;
  return value.substr(0, end) + "..." + value.substr(value.rfind(',')) + " (" +
         std::to_string(commas + 1) + " values)";
}

/// The parameters that are not at their defaults; all, where the file does not list these.
std::string parameters(const DataFile& file) {
  const auto names = file.text_attribute("parameters", "not_default");
  const std::vector<std::string> changed = text::split_words(names.value_or(""));
  std::vector<std::string> words;
  std::istringstream lines(attribute(file, "parameters", "config"));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find(" = ");
    if (line.starts_with('#') || equals == std::string::npos) continue;
    const std::string key = line.substr(0, equals);
    if (names && std::find(changed.begin(), changed.end(), key) == changed.end()) continue;
    words.push_back(key + " " + shortened(line.substr(equals + 3)));
  }
  return shown(text::join(words, ", "));
}

/// Adds the sizes of the dimensions of a group, "" being the root. They are asked for by their
/// marks: to open every dataset for its list of dimensions takes longer than all the rest.
void add_sizes(const DataFile& file, const std::string& group, std::vector<std::string>& names,
               std::vector<std::string>& sizes) {
  for (const auto& name : file.members(group.empty() ? "/" : group)) {
    const std::string path = group.empty() ? name : group + "/" + name;
    const bool counted = std::find(names.begin(), names.end(), name) != names.end();
    if (counted || name.starts_with("time") || !file.has_dataset(path)) continue;
    if (attribute(file, path, "CLASS") != "DIMENSION_SCALE") continue;
    const std::vector<std::size_t> shape = file.shape(path);
    if (shape.size() != 1) continue;
    names.push_back(name);
    sizes.push_back(name + " " + std::to_string(shape[0]));
  }
}

std::string sizes(const DataFile& file) {
  std::vector<std::string> names, sizes;
  add_sizes(file, "", names, sizes);
  if (file.has_group("problem")) add_sizes(file, "problem", names, sizes);
  return text::join(sizes, ", ");
}

std::string constants(const DataFile& file) {
  std::vector<std::string> values;
  for (const auto& name : text::split_words(attribute(file, "", "constants"))) {
    const auto value = file.number_attribute("", name);
    if (value) values.push_back(name + " = " + rounded(*value));
  }
  return text::join(values, ", ");
}

std::string events(const DataFile& file) {
  if (!file.has_dataset("events/kind") || !file.has_dataset("events/time")) return "";
  constexpr std::size_t most = 20;
  const auto names = text::split_words(attribute(file, "events/kind", "flag_meanings"));
  const auto kinds = file.read("events/kind").integers;
  const auto times = file.read("events/time").values;
  const auto indices = file.has_dataset("events/index") ? file.read("events/index").integers
                                                        : std::vector<std::int64_t>();
  std::vector<std::string> found;
  for (std::size_t i = 0; i < std::min(kinds.size(), times.size()); ++i) {
    if (kinds[i] < 0 || kinds[i] >= static_cast<std::int64_t>(names.size())) continue;
    const bool item = i < indices.size() && indices[i] >= 0;
    found.push_back(names[kinds[i]] + (item ? "[" + std::to_string(indices[i]) + "]" : "") +
                    " at t = " + rounded(times[i]));
  }
  if (found.empty()) return "none";
  if (found.size() > most) {
    const std::size_t more = found.size() - most;
    found.resize(most);
    found.push_back("and " + std::to_string(more) + " more");
  }
  return text::join(found, ", ");
}

std::string steps(const DataFile& file) {
  const auto accepted = whole_number(file, "statistics/accepted_steps");
  if (!accepted) return "";
  const auto rejected = whole_number(file, "statistics/rejected_steps").value_or(0);
  double smallest = INFINITY, largest = 0;
  if (file.has_dataset("statistics/step_min") && file.has_dataset("statistics/step_max")) {
    for (const double step : file.read("statistics/step_min").values) {
      if (step > 0) smallest = std::min(smallest, step);
    }
    for (const double step : file.read("statistics/step_max").values) {
      if (step > 0) largest = std::max(largest, step);
    }
  }
  const std::string range = largest > 0 && std::isfinite(smallest)
                                ? ", sizes from " + rounded(smallest) + " to " + rounded(largest)
                                : "";
  return std::to_string(*accepted) + " accepted, " + std::to_string(rejected) + " rejected" + range;
}

std::string size_on_disk(const DataFile& file) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(file.path(), error);
  return file.path() + (error ? "" : ", " + describe_bytes(static_cast<double>(bytes)));
}

// ---- Ensembles.

/// Which runs count in what is said of all of them together: not those that diverged.
class Counted {
 public:
  /// All of them.
  Counted() = default;
  /// As a file states it; all, where it has no status for each run.
  explicit Counted(const DataFile& file) {
    if (!file.has_dataset("status")) return;
    const auto words = text::split_words(attribute(file, "status", "flag_meanings"));
    for (const std::int64_t status : file.read("status").integers) {
      const bool known = status >= 0 && status < static_cast<std::int64_t>(words.size());
      counts_.push_back(!known || words[static_cast<std::size_t>(status)] != "diverged");
    }
    left_out_ = static_cast<std::size_t>(std::count(counts_.begin(), counts_.end(), false));
  }

  [[nodiscard]] bool operator()(std::size_t run) const {
    return run >= counts_.size() || counts_[run];
  }
  [[nodiscard]] std::size_t number() const { return counts_.size() - left_out_; }
  /// "; 11 of 16 runs diverged and are left out", or nothing.
  [[nodiscard]] std::string note() const {
    if (left_out_ == 0) return "";
    return "; " + std::to_string(left_out_) + " of " + std::to_string(counts_.size()) + " runs " +
           "diverged and " + (left_out_ == 1 ? "is" : "are") + " left out";
  }

 private:
  std::vector<bool> counts_;  ///< of each run
  std::size_t left_out_ = 0;
};

/// Counts of the words of a variable over runs: "30 complete, 2 diverged". Of those alone that
/// `counts`. What is left of an interrupted file's runs, nobody is running.
template <class Counts>
std::string numbers_of_words(const DataFile& file, const std::string& name, Counts counts) {
  if (!file.has_dataset(name)) return "";
  auto words = text::split_words(attribute(file, name, "flag_meanings"));
  if (name == "status" && attribute(file, "", "status") != "running")
    std::replace(words.begin(), words.end(), std::string("running"), std::string("unfinished"));
  const auto values = file.read(name).integers;
  std::vector<std::size_t> numbers(words.size(), 0);
  for (std::size_t run = 0; run < values.size(); ++run) {
    const auto word = static_cast<std::size_t>(values[run]);
    if (word < words.size() && counts(run)) ++numbers[word];
  }
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (numbers[i] > 0) parts.push_back(std::to_string(numbers[i]) + " " + words[i]);
  return text::join(parts, ", ");
}

/// "boosted in 31 of 32 runs (median t = 120)".
std::string events_of_runs(const DataFile& file, std::size_t runs, const Counted& counted) {
  if (!file.has_dataset("events/kind")) return "";
  const auto names = text::split_words(attribute(file, "events/kind", "flag_meanings"));
  const auto kinds = file.read("events/kind").integers;
  const auto times = file.read("events/time").values;
  const std::size_t places = std::max<std::size_t>(1, kinds.size() / runs);  // of a run
  std::vector<std::vector<double>> when(names.size());
  for (std::size_t i = 0; i < std::min(kinds.size(), times.size()); ++i) {
    const auto kind = static_cast<std::size_t>(kinds[i]);
    if (kind < names.size() && counted(i / places)) when[kind].push_back(times[i]);
  }
  std::vector<std::string> found;
  for (std::size_t name = 0; name < names.size(); ++name) {
    if (when[name].empty()) continue;
    found.push_back(names[name] + " in " + std::to_string(when[name].size()) + " of " +
                    std::to_string(counted.number()) +
                    " runs (median t = " + rounded(median(when[name])) + ")");
  }
  return (found.empty() ? "none" : text::join(found, ", ")) + counted.note();
}

/// The first and the last value of those runs that count and have one there.
struct Ends {
  std::vector<double> first, last;
};

Ends across_runs(const DataFile& file, const std::string& name, std::size_t runs, std::size_t saves,
                 const Counted& counted) {
  if (file.shape(name) != std::vector<std::size_t>{runs, saves})
    throw InputError("'" + file.path() + "' is damaged: " + name + " has another shape");
  // In pieces: all saves of all runs need not fit the memory.
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  const std::size_t most = std::max<std::size_t>(1, kPiece / std::max<std::size_t>(saves, 1));
  std::vector<double> piece;
  Ends ends;
  for (std::size_t begin = 0; begin < runs; begin += most) {
    const std::size_t count = std::min(most, runs - begin);
    piece.resize(count * saves);
    file.read_rows(name, {}, begin, count, piece.data());
    for (std::size_t i = 0; i < count; ++i) {
      if (!counted(begin + i)) continue;
      const double first = piece[i * saves], last = piece[(i + 1) * saves - 1];
      if (std::isfinite(first)) ends.first.push_back(first);
      if (std::isfinite(last)) ends.last.push_back(last);
    }
  }
  return ends;
}

/// "time_to_90: 12 of 20, from t = 3.1 to t = 80"; of several runs all their items.
void add_passages(const DataFile& file, Rows& rows, std::size_t runs, const Counted& counted) {
  for (const auto& name : text::split_words(attribute(file, "", "passages"))) {
    if (!file.has_dataset(name)) continue;
    const auto times = file.read(name).values;
    const std::size_t items =
        std::max<std::size_t>(1, times.size() / std::max<std::size_t>(runs, 1));
    std::size_t passed = 0, all = 0;
    double first = INFINITY, last = -INFINITY;
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (!counted(i / items)) continue;
      ++all;
      if (std::isnan(times[i])) continue;
      ++passed;
      first = std::min(first, times[i]);
      last = std::max(last, times[i]);
    }
    std::string line = std::to_string(passed) + " of " + std::to_string(all);
    if (passed > 0) line += ", from t = " + rounded(first) + " to t = " + rounded(last);
    rows.push_back({name, line});
  }
}

std::string table_of_runs(const DataFile& file, std::size_t runs, std::size_t saves,
                          const Counted& counted) {
  // A single save is the end, and no beginning.
  const bool begins = saves > 1;
  Rows rows = {{"observable", begins ? "first" : "", "last: mean", "std", "least", "most", "runs"}};
  for (const auto& name : observables(file)) {
    const auto [first, last] = across_runs(file, name, runs, saves, counted);
    std::vector<std::string> row = {name};
    row.push_back(!begins ? "" : first.empty() ? "-" : rounded(median(first)));
    if (last.empty()) {
      row.insert(row.end(), {"-", "-", "-", "-", "0"});
    } else {
      const auto n = static_cast<double>(last.size());
      const double mean = std::accumulate(last.begin(), last.end(), 0.0) / n;
      double squares = 0;
      for (const double value : last) squares += (value - mean) * (value - mean);
      row.push_back(rounded(mean));
      row.push_back(n > 1 ? rounded(std::sqrt(squares / (n - 1))) : "-");
      row.push_back(rounded(*std::min_element(last.begin(), last.end())));
      row.push_back(rounded(*std::max_element(last.begin(), last.end())));
      row.push_back(std::to_string(last.size()));
    }
    rows.push_back(row);
  }
  return "\n" + text::columns(rows);
}

// ---- Observables and drifts.

/// The largest drift over the saves; nothing for an observable that shows no invariant.
std::optional<double> drift(const std::string& form, const std::vector<double>& values) {
  if (form != "zero" && form != "constant") return std::nullopt;
  if (values.empty()) return std::nullopt;
  const double origin = form == "zero" ? 0 : values.front();
  double largest = 0;
  for (const double value : values) {
    const double change = std::abs(value - origin);
    if (std::isnan(change)) return change;
    largest = std::max(largest, change);
  }
  return largest;
}

std::string observable_table(const DataFile& file, std::size_t saves, std::size_t done) {
  if (done == 0) return "";
  // A single save is the end, and no beginning.
  const bool begins = saves > 1;
  Rows rows;
  bool any_drift = false;
  for (const auto& name : observables(file)) {
    auto values = series(file, name, saves);
    values.resize(done);
    const std::string form = attribute(file, name, "invariant");
    const auto moved = begins || form == "zero" ? drift(form, values) : std::nullopt;
    any_drift = any_drift || moved;
    rows.push_back({name, begins ? rounded(values.front()) : "", rounded(values.back()),
                    moved ? rounded(*moved) : ""});
  }
  if (rows.empty()) return "";
  rows.insert(rows.begin(),
              {"observable", begins ? "first" : "", "last", any_drift ? "invariant's drift" : ""});
  return "\n" + text::columns(rows);
}

// ---- The last state after post-processing.

/// The mean over the runs that have ended, or "-".
std::string mean_of(const std::vector<double>& values) {
  double sum = 0;
  std::size_t runs = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    sum += value;
    ++runs;
  }
  return runs == 0 ? "-" : rounded(sum / static_cast<double>(runs));
}

/// Names that end in _before and _after are two columns of one row; the others, which count
/// failures, get a line where they are not 0.
std::string final_table(const DataFile& file, std::size_t runs) {
  if (!file.has_group("final")) return "";
  const std::string before = "_before", after = "_after";
  Rows rows = {{runs > 1 ? "at the end (mean of runs)" : "at the end", "as it is",
                attribute(file, "final", "made_into")}};
  Rows notes;
  for (const auto& name : file.members("final")) {
    const std::string path = "final/" + name;
    if (!file.has_dataset(path) || name.ends_with(after)) continue;
    const auto values = file.read(path).values;
    if (!name.ends_with(before)) {
      const std::string mean = mean_of(values);
      if (mean != "-" && mean != "0")
        notes.push_back({name, mean + ": " + attribute(file, path, "long_name")});
      continue;
    }
    const std::string stem = name.substr(0, name.size() - before.size());
    if (!file.has_dataset("final/" + stem + after)) continue;
    rows.push_back({stem, mean_of(values), mean_of(file.read("final/" + stem + after).values)});
  }
  return "\n" + text::columns(rows) + (notes.empty() ? "" : "\n" + text::columns(notes));
}

/// The stage, from 1, in which each run that counts and has begun was last.
std::vector<std::int64_t> last_stages(const DataFile& file, const Counted& counted) {
  if (!file.has_dataset("stage")) return {};
  const std::vector<std::int64_t> stage = file.read("stage").integers;
  const std::vector<std::int64_t> done = file.read("saves_done").integers;
  const std::size_t saves = stage.size() / done.size();
  std::vector<std::int64_t> last;
  for (std::size_t run = 0; run < done.size(); ++run)
    if (done[run] > 0 && counted(run))
      last.push_back(stage[run * saves + static_cast<std::size_t>(done[run]) - 1]);
  return last;
}

/// "regularised", or of several runs "boosting in 1, ended in 3".
std::string stages(const DataFile& file, const Counted& counted) {
  const std::vector<std::int64_t> last = last_stages(file, counted);
  if (last.empty()) return "";
  const auto words = text::split_words(attribute(file, "stage", "flag_meanings"));
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto number = std::count(last.begin(), last.end(), static_cast<std::int64_t>(i + 1));
    if (number > 0) parts.push_back(words[i] + " in " + std::to_string(number));
  }
  return last.size() > 1 ? text::join(parts, ", ")
                         : words.at(static_cast<std::size_t>(last[0] - 1));
}

void add(Rows& rows, const std::string& label, const std::string& value) {
  if (!value.empty()) rows.push_back({label, value});
}

std::string count(const DataFile& file, const std::string& name) {
  const auto value = whole_number(file, name);
  return value ? std::to_string(*value) : "";
}

}  // namespace

std::string summarize(const DataFile& file) {
  require_run(file);
  const auto time = file.read("time").values;
  const std::size_t done = saves_done(file, time.size());
  Rows above;
  add(above, "system", attribute(file, "", "system") + ", mode " + attribute(file, "", "mode"));
  add(above, "status", status(file));
  add(above, "time", ensemble(file) > 1 ? reached_by_runs(file, time) : reached(file, time, done));
  add(above, "parameters", parameters(file));
  add(above, "sizes", sizes(file));
  add(above, "constants", constants(file));
  const std::size_t runs = ensemble(file);
  // Of one run everything is told, whatever became of it.
  const Counted counted = runs > 1 ? Counted(file) : Counted();
  const auto everyone = [](std::size_t) { return true; };
  if (runs > 0)
    add(above, "runs", std::to_string(runs) + ": " + numbers_of_words(file, "status", everyone));
  add(above, "events", runs > 1 ? events_of_runs(file, runs, counted) : events(file));
  add(above, "stage", stages(file, counted));
  add_passages(file, above, runs, counted);
  add(above, "outcome",
      runs > 0 ? numbers_of_words(file, "outcome", counted) : attribute(file, "", "outcome"));
  Rows below;
  add(below, "evaluations", count(file, "statistics/rhs_evaluations"));
  add(below, "steps", steps(file));
  const auto wall_time = file.number_attribute("provenance", "wall_time");
  if (wall_time && *wall_time >= 0) add(below, "wall time", text::measured(*wall_time));
  add(below, "file", size_on_disk(file));
  return text::paragraph(attribute(file, "", "title")) + text::columns(above) +
         (runs > 1 ? table_of_runs(file, runs, time.size(), counted)
                   : observable_table(file, time.size(), done)) +
         final_table(file, runs) + "\n" + text::columns(below);
}

std::vector<std::string> warnings_at_end(const DataFile& file) {
  std::vector<std::string> warnings;
  const Counted counted = ensemble(file) > 1 ? Counted(file) : Counted();
  const std::vector<std::int64_t> stages = last_stages(file, counted);
  const auto early = std::count(stages.begin(), stages.end(), 1);
  const auto words = file.has_dataset("stage")
                         ? text::split_words(attribute(file, "stage", "flag_meanings"))
                         : std::vector<std::string>();
  if (early > 0 && words.size() > 1)
    warnings.push_back(
        (stages.size() > 1
             ? std::to_string(early) + " of " + std::to_string(stages.size()) + " runs"
             : std::string("the run")) +
        " ended in stage 1, '" + words[0] + "': stage 2, '" + words[1] + "', has not begun");
  if (!file.has_group("final")) return warnings;
  for (const auto& name : file.members("final")) {
    const std::string path = "final/" + name;
    if (!file.has_dataset(path) || !file.number_attribute(path, "warns")) continue;
    double sum = 0;
    for (const double value : file.read(path).values)
      if (!std::isnan(value)) sum += value;
    if (sum > 0)
      warnings.push_back(name + " = " + rounded(sum) + ": " + attribute(file, path, "long_name"));
  }
  return warnings;
}

bool may_warn_at_end(const GroupSpec& layout) {
  const auto is = [](const char* name) {
    return [=](const auto& part) { return part.name == name; };
  };
  return std::ranges::any_of(layout.variables, is("stage")) ||
         std::ranges::any_of(layout.groups, is("final"));
}

std::string describe(const DataFile& file) {
  std::string page = summarize(file);
  Rows rows;
  const std::string version = attribute(file, "provenance", "version");
  const std::string revision = attribute(file, "provenance", "revision");
  if (!version.empty()) {
    rows.push_back(
        {"written by", "popflow " + version + (revision.empty() ? "" : ", revision " + revision)});
  }
  add(rows, "on", attribute(file, "provenance", "host"));
  add(rows, "started", attribute(file, "provenance", "started"));
  add(rows, "ended", attribute(file, "provenance", "ended"));
  const auto resumed = file.number_attribute("provenance", "resumed");
  if (resumed && *resumed > 0) add(rows, "resumed", rounded(*resumed) + " times");
  add(rows, "history", attribute(file, "", "history"));
  add(rows, "state fields", attribute(file, "", "state_fields"));
  return rows.empty() ? page : page + "\n" + text::columns(rows);
}

}  // namespace popflow
