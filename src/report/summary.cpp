#include "report/summary.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "popflow/error.hpp"
#include "popflow/memory.hpp"
#include "popflow/parameter.hpp"
#include "report/contents.hpp"
#include "report/ensemble_summary.hpp"
#include "text/text.hpp"

namespace popflow {
namespace {

using namespace contents;
using text::rounded;

/// Values of a variable at the saves.
std::vector<double> series(const DataFile& file, const std::string& name, std::size_t saves) {
  auto values = file.read(name).values;
  if (values.size() != saves) {
    throw InputError("'" + file.path() + "' is damaged: " + name + " has " +
                     std::to_string(values.size()) + " elements, time has " +
                     std::to_string(saves));
  }
  return values;
}

// ---- rows of the summary, one function each; empty if the file has no such data

std::string status(const DataFile& file) {
  const std::string word = attribute(file, "", "status");
  const std::string message = attribute(file, "", "status_message");
  const double diverged_at = file.number_attribute("", "diverged_at").value_or(std::nan(""));
  const std::string when =
      std::isnan(diverged_at) ? "" : " (diverged at t = " + rounded(diverged_at) + ")";
  return word + (message.empty() ? "" : ": " + message) + when;
}

/// `at`: position of the run, if it is not the last finished save.
std::string reached(const DataFile& file, const std::vector<double>& time, std::size_t done,
                    std::string at = "") {
  const double planned =
      file.number_attribute("parameters", "t-end").value_or(time.empty() ? 0 : time.back());
  if (at.empty()) at = done == 0 ? "nothing recorded" : "t = " + rounded(time[done - 1]);
  return at + " of " + rounded(planned) + ", " + std::to_string(done) + " of " +
         std::to_string(time.size()) + (time.size() == 1 ? " save" : " saves");
}

/// Text such as "t = 3" or "t = 24 to 51"; empty unless all runs of an ensemble have ended. A run
/// that stops early stores its last values in the place of the first save that it did not reach.
std::string where_runs_stopped(const DataFile& file) {
  if (!file.has_dataset("stop_time")) return "";
  const std::vector<double> stops = file.read("stop_time").values;
  if (stops.empty() || !std::all_of(stops.begin(), stops.end(), [](double t) { return t >= 0; }))
    return "";
  const auto [first, last] = std::minmax_element(stops.begin(), stops.end());
  return "t = " + rounded(*first) + (*first < *last ? " to " + rounded(*last) : "");
}

/// Progress of an ensemble, whose runs may have reached different saves.
std::string reached_by_runs(const DataFile& file, const std::vector<double>& time) {
  const std::vector<std::int64_t> done = file.read("saves_done").integers;
  const auto saves = static_cast<std::int64_t>(time.size());
  const auto all = std::count(done.begin(), done.end(), saves);
  const auto none = std::count_if(done.begin(), done.end(), [](auto n) { return n <= 0; });
  const auto least = saves_done(file, time.size());
  const auto rest = static_cast<std::ptrdiff_t>(done.size()) - all - none;
  if (all == 0 && (least > 0 || rest == 0))
    return reached(file, time, least, least > 0 ? where_runs_stopped(file) : "");
  if (all == static_cast<std::ptrdiff_t>(done.size())) return reached(file, time, least);
  return std::to_string(all) + " of " + std::to_string(done.size()) + " runs have all " +
         std::to_string(saves) + (saves == 1 ? " save" : " saves") +
         " to t = " + rounded(time.back()) +
         (rest > 0 ? ", " + std::to_string(rest) + " have some" : "") +
         (none > 0 ? ", " + std::to_string(none) + " none yet" : "");
}

/// Shows a long list of numbers by its beginning, its last number and its length.
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

/// Parameters that differ from their defaults; all parameters if the file does not list these.
std::string parameters(const DataFile& file) {
  const auto names = file.text_attribute("parameters", "not_default");
  const std::vector<std::string> changed = text::split_words(names.value_or(""));
  std::vector<std::string> words;
  for (const std::string& line : text::lines(attribute(file, "parameters", "config"))) {
    const std::size_t equals = line.find(" = ");
    if (line.starts_with('#') || equals == std::string::npos) continue;
    const std::string key = line.substr(0, equals);
    if (names && std::find(changed.begin(), changed.end(), key) == changed.end()) continue;
    words.push_back(key + text::kHeld + shortened(line.substr(equals + 3)));
  }
  return shown(text::join(words, ", "));
}

/// Adds the sizes of the dimensions of a group ("" is the root). The dimensions are found by their
/// marks: opening every dataset for its list of dimensions takes longer than everything else.
void add_sizes(const DataFile& file, const std::string& group, std::vector<std::string>& names,
               std::vector<std::size_t>& sizes) {
  for (const auto& name : file.members(group.empty() ? "/" : group)) {
    const std::string path = group.empty() ? name : group + "/" + name;
    const bool counted = std::find(names.begin(), names.end(), name) != names.end();
    if (counted || name.starts_with("time") || !file.has_dataset(path)) continue;
    if (attribute(file, path, "CLASS") != "DIMENSION_SCALE") continue;
    const std::vector<std::size_t> shape = file.shape(path);
    if (shape.size() != 1) continue;
    names.push_back(name);
    sizes.push_back(shape[0]);
  }
}

std::string sizes(const DataFile& file) {
  std::vector<std::string> names, words;
  std::vector<std::size_t> sizes;
  add_sizes(file, "", names, sizes);
  if (file.has_group("problem")) add_sizes(file, "problem", names, sizes);
  // Neighbours of one size stand together: most of them are axes of the same things.
  for (std::size_t first = 0, last = 0; first < names.size(); first = last) {
    while (last < names.size() && sizes[last] == sizes[first]) ++last;
    const auto begin = names.begin();
    words.push_back(text::join({begin + static_cast<std::ptrdiff_t>(first),
                                begin + static_cast<std::ptrdiff_t>(last)},
                               ", ") +
                    " " + std::to_string(sizes[first]) + (last > first + 1 ? " each" : ""));
  }
  return text::join(words, "; ");
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

// ---- observables and drifts

/// Largest drift over the saves; empty for an observable that is not an invariant.
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
  // A single save is at the end and not at the start.
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
  rows.insert(rows.begin(), {"observable", begins ? first_save(file) : "", "last",
                             any_drift ? "invariant's drift" : ""});
  return "\n" + text::columns(rows);
}

// ---- last state after post-processing

/// Mean over the runs that have ended, or "-".
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

/// Names that end in _before and _after become two columns of one row. The others count failures;
/// they get a line unless they are 0.
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

/// Last stage, counted from 1, of each run that counts and has started.
std::vector<std::int64_t> last_stages(const DataFile& file, const Counted& counted) {
  if (!file.has_dataset("stage")) return {};
  const std::size_t saves = file.read("time").values.size();
  const std::vector<std::size_t> done = saves_of_runs(file, saves);
  const std::vector<std::int64_t> stage = file.integers("stage", done.size() * saves);
  std::vector<std::int64_t> last;
  for (std::size_t run = 0; run < done.size(); ++run)
    if (done[run] > 0 && counted(run)) last.push_back(stage[run * saves + done[run] - 1]);
  return last;
}

/// Text such as "regularised" or, for several runs, "boosting in 1, ended in 3".
std::string stages(const DataFile& file, const Counted& counted) {
  const std::vector<std::int64_t> last = last_stages(file, counted);
  if (last.empty()) return "";
  const auto words = text::split_words(attribute(file, "stage", "flag_meanings"));
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto number = std::count(last.begin(), last.end(), static_cast<std::int64_t>(i + 1));
    if (number > 0) parts.push_back(words[i] + " in " + std::to_string(number));
  }
  if (last.size() > 1) return text::join(parts, ", ");
  if (last[0] < 1 || last[0] > static_cast<std::int64_t>(words.size())) return "";
  return words[static_cast<std::size_t>(last[0] - 1)];
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
  // A single run always counts, even if it diverged.
  const Counted counted = runs > 1 ? Counted(file) : Counted();
  const auto everyone = [](std::size_t) { return true; };
  if (runs > 0)
    add(above, "runs", std::to_string(runs) + ": " + count_words(file, "status", everyone));
  add(above, "events", runs > 1 ? events_of_runs(file, runs, counted) : events(file));
  add(above, "stage", stages(file, counted));
  add_passages(file, above, runs, counted);
  add(above, "outcome",
      runs > 0 ? count_words(file, "outcome", counted) : attribute(file, "", "outcome"));
  Rows below;
  add(below, "evaluations", count(file, "statistics/rhs_evaluations"));
  add(below, "steps", steps(file));
  const auto wall_time = file.number_attribute("provenance", "wall_time");
  if (wall_time && *wall_time > 0) add(below, "wall time", text::measured(*wall_time));
  add(below, "file", size_on_disk(file));
  return text::paragraph(attribute(file, "", "title")) + text::columns(above) +
         (runs > 1 ? table_of_runs(file, runs, time.size(), counted)
                   : observable_table(file, time.size(), done)) +
         final_table(file, runs) + "\n" + text::columns(below);
}

/// Warns if a Gauss-Hermite rule had too few points at a save time.
std::vector<std::string> warnings_of_quadrature(const DataFile& file) {
  constexpr double most = 1e-8;  // at the start 1e-10 is required
  if (!file.has_dataset(kQuadratureError)) return {};
  const std::vector<double> time = file.read("time").values;
  const std::vector<double> errors = file.read(kQuadratureError).values;
  double largest = 0, at = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (!(errors[i] > largest)) continue;
    largest = errors[i];
    at = time[i % time.size()];
  }
  if (largest <= most) return {};
  return {std::string(kQuadratureError) + " is " + rounded(largest) + " at t = " + rounded(at) +
          ", above " + rounded(most) +
          ": the Gauss-Hermite rules, whose points suit the start, have too few points for the "
          "variances there. Raise their number by quadrature(points) of the model"};
}

std::vector<std::string> warnings_at_end(const DataFile& file) {
  std::vector<std::string> warnings = warnings_of_quadrature(file);
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
         std::ranges::any_of(layout.variables, is(kQuadratureError)) ||
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
  add(rows, "noise of a sample", attribute(file, "provenance", "plugin_noise"));
  add(rows, "population", attribute(file, "provenance", "plugin_population"));
  add(rows, "population samples", attribute(file, "provenance", "plugin_population_samples"));
  add(rows, "history", attribute(file, "", "history"));
  add(rows, "state fields", attribute(file, "", "state_fields"));
  return rows.empty() ? page : page + "\n" + text::columns(rows);
}

}  // namespace popflow
