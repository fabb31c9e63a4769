#include "compare/trajectories.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <fstream>
#include <limits>
#include <string_view>

#include "compare/rungs.hpp"
#include "engine/described.hpp"
#include "engine/specs.hpp"
#include "engine/status.hpp"
#include "options/rung_words.hpp"
#include "statistics/moments.hpp"
#include "statistics/numbers.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// Largest distance of equal times, as a part of the last time: other programs may store times in
/// single precision.
constexpr double kSameGivenTime = 1e-6;
constexpr std::string_view kTimeOf = "time_of_";

using Names = std::vector<std::string>;

bool contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

InputError wrong(const FinishedFile& file, const std::string& what) {
  return InputError(file.path + ": " + what);
}

/// Refuses a netCDF-3 file and names a way to convert it.
void refuse_classic_netcdf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, 3> head{};
  if (file.read(head.data(), head.size()) && std::string_view(head.data(), 3) == "CDF")
    throw InputError(path +
                     " is a netCDF-3 file, but --from reads netCDF-4 and HDF5; xarray writes "
                     "netCDF-4 by to_netcdf(path, engine=\"h5netcdf\")");
}

/// Reads the variables of one file.
class Reader {
 public:
  Reader(const FinishedFile& file, const std::string& group) : of_(file), file_(file.path, group) {}

  Trajectories read(const SystemInfo* system, std::optional<double> learning_rate) {
    Trajectories all{of_, {}, 1, false, {}, {}, {}};
    all.times = times(learning_rate);
    require_times(all.times);
    Names over_time;
    for (const std::string& name : variables())
      if (!is_axis(name) && is_over_time(name, all.times.size())) over_time.push_back(name);
    Names known = over_time;
    if (system != nullptr) {
      const Names of_system = names_of(system->observables);
      std::erase_if(known, [&](const std::string& name) { return !contains(of_system, name); });
      for (const std::string& name : over_time)
        if (!contains(known, name)) all.left_out.push_back(name);
      // A variable with the name of an observable counts as this observable, whatever its shape;
      // series() reports a wrong shape.
      for (const std::string& name : of_system)
        if (!contains(known, name) && file_.has_dataset(name)) known.push_back(name);
    }
    if (known.empty()) throw no_observables(system, over_time);
    std::optional<std::size_t> runs;
    std::string first;
    for (const std::string& name : known) {
      std::vector<double> values = series(name, all.times);
      const std::size_t its = values.size() / all.times.size();
      if (runs && *runs != its)
        throw wrong(of_, "'" + name + "' has " + counted(its) + ", but '" + first + "' has " +
                             counted(*runs) + "; all observables must have the same runs");
      runs = its;
      if (first.empty()) first = name;
      all.observables.emplace(name, std::move(values));
    }
    all.runs = *runs;
    all.exact = is_deterministic(all.runs);
    for (const std::string& name : variables())
      if (name.starts_with(kTimeOf))
        all.first_times.emplace(name.substr(kTimeOf.size()), first_times(name, all.runs));
    return all;
  }

 private:
  static std::string counted(std::size_t runs) {
    return std::to_string(runs) + (runs == 1 ? " run" : " runs");
  }
  /// Returns the names of the datasets in the file.
  [[nodiscard]] Names variables() const {
    Names found;
    for (const std::string& name : file_.members(""))
      if (has_values(name)) found.push_back(name);
    return found;
  }
  static bool is_axis(const std::string& name) {
    return name == "time" || name == "run" || name == "step";
  }
  /// Returns the dimensions of a variable; empty text stands for a dimension without a name.
  [[nodiscard]] Names dimensions(const std::string& name) const {
    Names found = file_.dimensions(name);
    found.resize(file_.shape(name).size());
    for (std::string& dimension : found)
      if (dimension.starts_with('/')) dimension = dimension.substr(dimension.rfind('/') + 1);
    return found;
  }
  [[nodiscard]] bool is_over_time(const std::string& name, std::size_t times) const {
    const std::vector<std::size_t> shape = file_.shape(name);
    if (shape.empty() || shape.size() > 2 || name.starts_with(kTimeOf)) return false;
    const Names its = dimensions(name);
    return contains(its, axis_) || (its.back().empty() && shape.back() == times);
  }

  /// Returns whether the file has the variable. netCDF stores a dimension without a variable as a
  /// dataset, too.
  [[nodiscard]] bool has_values(const std::string& name) const {
    return file_.has_dataset(name) &&
           !file_.text_attribute(name, "NAME").value_or("").starts_with("This is a netCDF dim");
  }

  std::vector<double> times(std::optional<double> learning_rate) {
    const bool has_time = has_values("time");
    if (!has_time && !has_values("step"))
      throw wrong(of_,
                  "it has neither a variable 'time' (flow time: learning rate times step) nor "
                  "'step'; its variables are " +
                      text::join(variables(), ", "));
    const std::string name = has_time ? "time" : "step";
    if (file_.shape(name).size() != 1)
      throw wrong(of_, "'" + name + "' has the shape " + in_words(file_.shape(name)) +
                           "; it must have one dimension");
    axis_ = name;
    // The dimension of time may have another name: a coordinate time(step) lies along `step`.
    if (const std::string along = dimensions(name).front(); !along.empty()) axis_ = along;
    require_plain(name);
    std::vector<double> values = file_.read(name).values;
    if (has_time) return values;
    if (!learning_rate)
      throw wrong(of_,
                  "it has 'step' but no 'time'; give --learning-rate to turn steps into flow time");
    for (double& value : values) value *= *learning_rate;
    return values;
  }
  void require_times(const std::vector<double>& times) const {
    if (times.size() < 2)
      throw wrong(of_, "it has " + std::to_string(times.size()) +
                           (times.size() == 1 ? " time" : " times") +
                           "; a comparison needs at least 2");
    for (std::size_t i = 0; i < times.size(); ++i) {
      const std::string which = "time " + std::to_string(i) + " is " + shortest(times[i]);
      if (!std::isfinite(times[i]) || times[i] < 0)
        throw wrong(of_, which + "; flow times must be finite and at least 0");
      if (i > 0 && !(times[i] > times[i - 1]))
        throw wrong(of_, which + ", after " + shortest(times[i - 1]) + "; times must increase");
    }
  }

  InputError no_observables(const SystemInfo* system, const Names& over_time) const {
    const std::string there = over_time.empty()
                                  ? "it has no variable over '" + axis_ + "'"
                                  : "its variables over time are " + text::join(over_time, ", ");
    if (system == nullptr) return wrong(of_, "there is nothing to compare: " + there);
    const Names all = names_of(system->observables);
    std::string near;
    for (const std::string& name : over_time)
      if (const std::string one = nearest(name, all); !one.empty() && near.empty())
        near = "; did you mean " + one + " with " + name + "?";
    return wrong(of_, "it has none of the observables of " + system->name + ", which are " +
                          text::join(all, ", ") + "; " + there + near);
  }

  /// Returns the values (runs x times) of an observable, all of them finite.
  [[nodiscard]] std::vector<double> series(const std::string& name,
                                           const std::vector<double>& times) const {
    const std::vector<std::size_t> shape = file_.shape(name);
    const Names its = dimensions(name);
    const auto is = [&](std::size_t i, const std::string& wanted, std::size_t size) {
      return shape[i] == size && (its[i] == wanted || its[i].empty());
    };
    const bool named =
        std::any_of(its.begin(), its.end(), [](const auto& n) { return !n.empty(); });
    const bool one = shape.size() == 1 && is(0, axis_, times.size());
    const bool several = shape.size() == 2 && is(0, "run", shape[0]) && is(1, axis_, times.size());
    const bool turned = shape.size() == 2 && its[0] == axis_ && its[1] == "run";
    if (!one && !several && !turned)
      throw wrong(of_, "'" + name + "' has the shape " + in_words(shape) +
                           (named ? ", along " + text::join(its, ", ") : "") +
                           "; it must be along " + axis_ + ", with " +
                           std::to_string(times.size()) + " values, or along run, " + axis_);
    if (count(shape) == 0) throw wrong(of_, "'" + name + "' has no runs");
    std::vector<double> values = file_.read(name).values;
    if (turned) {
      std::vector<double> rows(values.size());
      for (std::size_t t = 0; t < shape[0]; ++t)
        for (std::size_t run = 0; run < shape[1]; ++run)
          rows[run * shape[0] + t] = values[t * shape[1] + run];
      values = std::move(rows);
    }
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!std::isfinite(values[i]))
        throw wrong(of_, "'" + name + "' is " +
                             (std::isinf(values[i]) ? "infinite" : "NaN or missing") + " in run " +
                             std::to_string(i / times.size()) +
                             " at t = " + text::rounded(times[i % times.size()]) +
                             "; leave out this run, or end the times before this one");
    return values;
  }
  static std::size_t count(const std::vector<std::size_t>& shape) {
    std::size_t all = 1;
    for (const std::size_t size : shape) all *= size;
    return all;
  }

  [[nodiscard]] std::vector<double> first_times(const std::string& name, std::size_t runs) const {
    const std::vector<std::size_t> shape = file_.shape(name);
    if (count(shape) != runs || shape.size() > 1)
      throw wrong(of_, "'" + name + "' has the shape " + in_words(shape) +
                           "; it must have one time for each of the " + counted(runs));
    require_plain(name);
    return file_.reals(name, runs);
  }
  /// Refuses durations: flow time has no unit, and a file of xarray may be in any unit.
  void require_plain(const std::string& name) const {
    std::string units = file_.text_attribute(name, "units").value_or("");
    if (!units.empty() && units.back() != 's') units += 's';
    for (const std::string_view unit :
         {"days", "hours", "minutes", "seconds", "milliseconds", "microseconds", "nanoseconds"})
      if (units == unit)
        throw wrong(of_,
                    "'" + name + "' has durations, in " + units +
                        "; flow time is the learning rate times the step: write plain numbers, "
                        "with units \"1\"");
  }

  [[nodiscard]] bool is_deterministic(std::size_t runs) const {
    const double value = file_.number_attribute("", "deterministic").value_or(0);
    if (value != 0 && value != 1)
      throw wrong(of_, "its attribute 'deterministic' is " + shortest(value) +
                           "; it must be 1 (a single run without randomness) or 0");
    if (value == 1 && runs > 1)
      throw wrong(of_, "its attribute 'deterministic' is 1, but it has " + counted(runs) +
                           "; it must have a single run");
    return value == 1;
  }

  const FinishedFile& of_;
  DataFile file_;
  std::string axis_ = "time";  ///< the dimension of time
};

/// Returns the names of the observables that all trajectories have.
Names shared_observables(const std::vector<Trajectories>& given) {
  Names shared;
  for (const auto& observable : given.front().observables) {
    const std::string& name = observable.first;
    if (std::all_of(given.begin(), given.end(),
                    [&](const Trajectories& of) { return of.observables.contains(name); }))
      shared.push_back(name);
  }
  return shared;
}

}  // namespace

bool is_external(const std::string& path) {
  refuse_classic_netcdf(path);
  return DataFile(path).text_attribute("", "format") != "popflow";
}

void require_free_word(const FinishedFile& file) {
  constexpr std::array<std::string_view, 6> groups = {"comparison", "parameters", "provenance",
                                                      "noise",      "verdicts",   "problem"};
  const std::string& word = file.word;
  if (is_common_rung(word))
    throw UsageError("--from names " + file.path + " " + word +
                     ", which is the name of one of popflow's rungs, but popflow did not write "
                     "this file; choose another "
                     "name, such as mine=" +
                     file.path);
  const bool plain = word.size() <= 40 &&
                     std::isalpha(static_cast<unsigned char>(word.front())) != 0 &&
                     std::all_of(word.begin(), word.end(), [](unsigned char c) {
                       return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
                     });
  if (!plain || std::find(groups.begin(), groups.end(), word) != groups.end())
    throw UsageError(
        "--from has the name '" + word + "' for " + file.path +
        "; a name begins with a letter, continues with letters, digits, '_', '-' or '.', "
        "has at most 40 characters, and is none of " +
        text::join({groups.begin(), groups.end()}, ", "));
}

Trajectories read_trajectories(const FinishedFile& file, const SystemInfo* system,
                               std::optional<double> learning_rate, const std::string& group) {
  return Reader(file, group).read(system, learning_rate);
}

SystemInfo with_observables_of(SystemInfo system, const std::vector<Trajectories>& given) {
  const Names shared = shared_observables(given);
  std::erase_if(system.observables,
                [&](const ObservableInfo& info) { return !contains(shared, info.name); });
  if (system.observables.empty()) {
    Names held;
    for (const Trajectories& of : given) {
      Names names;
      for (const auto& [name, values] : of.observables) names.push_back(name);
      held.push_back(of.file.name() + " has " + text::join(names, ", "));
    }
    throw InputError("the files have no observable in common: " + text::join(held, "; "));
  }
  return system;
}

SystemInfo system_of(const std::vector<Trajectories>& given) {
  SystemInfo system;
  system.name = "trajectories";
  system.title = "trajectories of other programs";
  for (const auto& [name, values] : given.front().observables)
    system.observables.push_back({name, "", name, "", 0});
  return with_observables_of(std::move(system), given);
}

std::vector<std::string> left_out_notes(const SystemInfo& system, const SystemInfo& compared,
                                        const std::vector<Trajectories>& given) {
  std::vector<std::string> said;
  const Names kept = names_of(compared.observables);
  for (const Trajectories& of : given) {
    Names missing;
    for (const ObservableInfo& info : system.observables)
      if (!of.observables.contains(info.name)) missing.push_back(info.name);
    if (!missing.empty())
      said.push_back(of.file.name() + " has no " + text::join(missing, ", ") + "; compared " +
                     (kept.size() == 1 ? "is " : "are ") + text::join(kept, ", "));
    if (!of.left_out.empty())
      said.push_back(of.file.name() + ": left out, because " + system.name +
                     " has no such observables: " + text::join(of.left_out, ", "));
  }
  return said;
}

CommonTimes common_times(const std::vector<TimesOf>& rungs) {
  CommonTimes common;
  common.columns.resize(rungs.size());
  double last = 0;
  for (const TimesOf& rung : rungs) last = std::max(last, rung.times.back());
  const double rounding = kSameGivenTime * last;
  for (const double time : rungs.front().times) {
    std::vector<std::size_t> places;
    for (const TimesOf& rung : rungs) {
      const auto found = std::lower_bound(rung.times.begin(), rung.times.end(), time - rounding);
      if (found == rung.times.end() || *found > time + rounding) break;
      places.push_back(static_cast<std::size_t>(found - rung.times.begin()));
    }
    if (places.size() < rungs.size()) continue;
    common.times.push_back(time);
    for (std::size_t r = 0; r < rungs.size(); ++r) common.columns[r].push_back(places[r]);
  }
  if (common.times.size() >= 2) return common;
  Names all;
  for (const TimesOf& rung : rungs)
    all.push_back(rung.name + " has " + std::to_string(rung.times.size()) + " from " +
                  text::rounded(rung.times.front()) + " to " + text::rounded(rung.times.back()));
  throw InputError("the rungs have " +
                   std::string(common.times.empty() ? "no time" : "a single time") +
                   " in common, but a comparison needs at least 2: " + text::join(all, ", ") +
                   "; 'compare NAME --from mine=FILE --rungs flow,sgd' computes popflow's rungs at "
                   "the times of the file (sgd and gd at whole steps of --learning-rate)");
}

std::string common_times_note(const CommonTimes& common, const std::vector<TimesOf>& rungs) {
  const bool all = std::all_of(rungs.begin(), rungs.end(), [&](const TimesOf& rung) {
    return rung.times.size() == common.times.size();
  });
  if (all) return "";
  Names ends;
  for (const TimesOf& rung : rungs)
    ends.push_back(rung.name + " has " + std::to_string(rung.times.size()) + " up to " +
                   text::rounded(rung.times.back()));
  return "compared at the " + std::to_string(common.times.size()) +
         " times that all rungs have, from " + text::rounded(common.times.front()) + " to " +
         text::rounded(common.times.back()) + ": " + text::join(ends, ", ");
}

Paths at_columns(const Paths& paths, const std::vector<std::size_t>& columns) {
  Paths chosen{paths.runs, columns.size(), {}, paths.exact};
  chosen.values.reserve(paths.runs * columns.size());
  for (std::size_t run = 0; run < paths.runs; ++run)
    for (const std::size_t column : columns) chosen.values.push_back(paths.at(run, column));
  return chosen;
}

void cut_at(double end, FirstTimes& of) {
  for (auto& [counts, time] : of.runs)
    if (time > end * (1 + kSameTime)) time = kUnbounded;
}

RungPaths Trajectories::paths(const std::vector<std::string>& names,
                              const std::vector<std::size_t>& columns,
                              const std::vector<Subject>& happenings, double end) const {
  RungPaths result{runs, 0, {}, {}};
  for (const std::string& name : names)
    result.observables.push_back(
        at_columns({runs, times.size(), observables.at(name), exact}, columns));
  const RungRuns all{exact, std::vector<bool>(runs, false), std::vector<double>(runs, kUnbounded)};
  for (const Subject& subject : happenings) {
    const auto found = first_times.find(subject.name);
    if (subject.item >= 0 || found == first_times.end()) {
      result.happenings.push_back({{}, 0, exact});  // unknown: no run counts
      continue;
    }
    result.happenings.push_back(popflow::first_times(found->second, all, end));
    cut_at(end, result.happenings.back());
  }
  return result;
}

std::vector<std::string> start_warnings(const std::vector<std::string>& names,
                                        std::size_t first_given, const CommonTimes& common,
                                        const SystemInfo& compared,
                                        const std::vector<RungPaths>& rungs) {
  // standard errors; exceeded by chance with probability below 1e-6
  constexpr double kStandardErrors = 5;
  constexpr double kSingle = 1e-5;  // relative rounding of sums in single precision
  std::vector<std::string> warnings;
  if (common.times.front() > 0 || rungs.empty()) return warnings;
  for (std::size_t r = std::max<std::size_t>(first_given, 1); r < rungs.size(); ++r) {
    Names parts;
    for (std::size_t o = 0; o < compared.observables.size(); ++o) {
      const Paths &first = rungs.front().observables[o], &given = rungs[r].observables[o];
      const Summary a = summary(first, 0), b = summary(given, 0);
      const auto error = [](const Summary& of) {
        return std::isfinite(of.variance) ? std::sqrt(of.variance / of.number) : 0;
      };
      const double size = std::max({std::abs(a.mean), std::abs(b.mean),
                                    std::abs(summary(first, first.times - 1).mean),
                                    std::abs(summary(given, given.times - 1).mean)});
      const double allowed = kStandardErrors * std::hypot(error(a), error(b)) + kSingle * size +
                             compared.observables[o].floor;
      if (std::abs(a.mean - b.mean) > allowed)
        parts.push_back(compared.observables[o].name + " is " + text::digits(b.mean) + ", but " +
                        names.front() + " " + text::digits(a.mean));
    }
    if (!parts.empty())
      warnings.push_back(names[r] + " starts elsewhere than " + names.front() +
                         " (t = 0): " + text::join(parts, "; ") +
                         ". The comparison attributes differences of the starts to the rungs");
  }
  return warnings;
}

GroupSpec trajectories_group(const Trajectories& of, const SystemInfo& compared) {
  GroupSpec group;
  group.name = rung_group(of.file.word);
  const Names names = names_of(compared.observables);
  group.attributes = {{"rung", of.file.word},
                      {"mode", std::string("trajectories")},
                      {"deterministic", std::int64_t{of.exact ? 1 : 0}},
                      {"observables", joined(names)},
                      {"status", status_word(Status::complete)},
                      {"status_message", "read from " + of.file.path}};
  std::vector<std::string> along = {"time"};
  if (!of.exact) {
    group.dimensions.push_back(places("run", of.runs, "run"));
    along.insert(along.begin(), "run");
  }
  group.dimensions.push_back(axis("time", of.times, "flow time"));
  for (const ObservableInfo& info : compared.observables) {
    group.variables.push_back(variable_of(info, compared, along));
    group.variables.back().data = of.observables.at(info.name);
  }
  along.pop_back();
  group.variables.push_back(
      variable("saves_done", along, "saves that hold data", NumberType::int64));
  group.variables.back().data =
      std::vector<std::int64_t>(of.runs, static_cast<std::int64_t>(of.times.size()));
  if (!of.exact) {
    group.variables.push_back(status_of_runs(along));
    group.variables.back().data =
        std::vector<std::int8_t>(of.runs, static_cast<std::int8_t>(Status::complete));
  }
  for (const auto& [event, times] : of.first_times) {
    group.variables.push_back(time_of({event, event}, along));
    group.variables.back().data = times;
  }
  return group;
}

void mark_trajectories(GroupSpec& comparison, const std::vector<Trajectories>& given,
                       const SystemInfo& compared) {
  if (given.empty()) return;
  Names words;
  for (const Trajectories& of : given) words.push_back(of.file.word);
  comparison.attributes.push_back({"trajectories", joined(words)});
  comparison.attributes.push_back({"observables", joined(names_of(compared.observables))});
}

std::vector<Subject> happenings_of(const std::vector<Trajectories>& given) {
  std::vector<Subject> all;
  for (const Trajectories& of : given)
    for (const auto& [event, times] : of.first_times) all.push_back({event});
  return all;
}

}  // namespace popflow
