#include "merge/parts.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>

#include "engine/made_of_files.hpp"
#include "engine/specs.hpp"
#include "engine/status.hpp"
#include "merge/origins.hpp"
#include "merge/same_options.hpp"
#include "options/run_config.hpp"
#include "popflow/error.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// Returns whether parts may differ in an option, because the option changes no number or
/// identifies the part.
bool may_differ(const std::string& option) {
  return option == "runs" || option == "first-run" || !decides_numbers(option);
}

const DimensionSpec* find_dimension(const GroupSpec& group, const std::string& name) {
  const auto found = std::find_if(group.dimensions.begin(), group.dimensions.end(),
                                  [&](const DimensionSpec& d) { return d.name == name; });
  return found == group.dimensions.end() ? nullptr : &*found;
}

/// Dimensions that grow with the number of runs, by their paths.
constexpr std::array<std::string_view, 3> kOfRuns = {"run", "events/event", "restart/restart_slot"};

bool is_of_runs(const std::string& dimension) {
  return std::find(kOfRuns.begin(), kOfRuns.end(), dimension) != kOfRuns.end();
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

/// Returns a name that the layouts do not share, or share with another meaning; empty if there is
/// none.
std::string different_dimension(const GroupSpec& a, const GroupSpec& b, const std::string& path) {
  const auto full = [&](const std::string& name) { return path + name; };
  for (const DimensionSpec& one : a.dimensions) {
    const DimensionSpec* other = find_dimension(b, one.name);
    if (other == nullptr || one.coordinate != other->coordinate) return full(one.name);
    if (is_of_runs(full(one.name))) continue;
    if (one.size != other->size || one.first != other->first ||
        !same_bits(one.values, other->values))
      return full(one.name);
  }
  for (const GroupSpec& group : a.groups) {
    const GroupSpec* other = find_group(b, group.name);
    if (other == nullptr) return full(group.name);
    if (const std::string name = different_dimension(group, *other, full(group.name) + "/");
        !name.empty())
      return name;
  }
  return "";
}

void require_same_layout(const StoredFile& first, const StoredFile& other) {
  const auto refuse = [&](const std::string& name) {
    throw InputError("'" + other.path() + "' and '" + first.path() + "' differ in '" + name +
                     "'; parts of one ensemble must have the same layout");
  };
  if (const std::string name = different_dimension(first.layout(), other.layout(), "");
      !name.empty())
    refuse(name);
  if (const std::string name = different_dimension(other.layout(), first.layout(), "");
      !name.empty())
    refuse(name);
  const std::vector<PlacedVariable> ours = variables_of(first.layout()),
                                    its = variables_of(other.layout());
  for (std::size_t i = 0; i < std::max(ours.size(), its.size()); ++i) {
    if (i >= ours.size()) refuse(its[i].path);
    if (i >= its.size() || ours[i].path != its[i].path || ours[i].dimensions != its[i].dimensions ||
        ours[i].variable->type != its[i].variable->type)
      refuse(ours[i].path);
  }
  for (const char* layout : {"state_layout", "driver_layout"})
    if (text_of(first.layout(), "restart", layout) != text_of(other.layout(), "restart", layout))
      refuse(std::string("restart/") + layout);
}

/// Corrects, in the words of `not_default`, the options that determine which runs there are; keeps
/// the order of all options.
std::string renamed_changes(const std::string& words, bool several, bool from_later) {
  std::vector<std::string> old = text::split_words(words), changed;
  const Parameters known(run_options());
  for (const std::string& word : old)
    if (known.find(word) == nullptr) changed.push_back(word);
  for (const Parameter& row : run_options()) {
    const bool was = std::find(old.begin(), old.end(), row.name) != old.end();
    if (row.name == "runs" ? several : row.name == "first-run" ? from_later : was)
      changed.push_back(row.name);
  }
  return joined(changed);
}

/// Returns the text of a configuration with other values of some keys.
std::string with_values(const std::string& config,
                        const std::map<std::string, std::string>& values) {
  std::string text;
  for (std::size_t begin = 0; begin < config.size();) {
    const std::size_t end = std::min(config.find('\n', begin), config.size());
    std::string line = config.substr(begin, end - begin);
    const auto found = values.find(line.substr(0, line.find(" = ")));
    if (found != values.end()) line = found->first + " = " + found->second;
    text += line + "\n";
    begin = end + 1;
  }
  return text;
}

}  // namespace

bool is_of_runs(const PlacedVariable& variable) {
  return !variable.dimensions.empty() && is_of_runs(variable.dimensions.front());
}

Part read_part(const std::string& path) {
  Part part(path);
  const GroupSpec& layout = part.file.layout();
  const std::string mode = text_of(layout, "", "mode");
  const DimensionSpec* run = find_dimension(layout, "run");
  if ((mode != "sde" && mode != "sgd") || run == nullptr ||
      run->coordinate != DimensionSpec::Coordinate::index)
    throw InputError("'" + path + "' is not a part of an ensemble: its mode is '" + mode +
                     "'; parts must have mode sde or sgd");
  part.first = run->first;
  const std::size_t runs = run->size;
  const GroupSpec* parameters = find_group(layout, "parameters");
  const Attribute* first =
      parameters == nullptr ? nullptr : find_attribute(*parameters, "first-run");
  if (find_group(layout, "sweep") != nullptr)
    throw InputError("'" + path + "' is a sweep, but the other files are parts of an ensemble");
  if (first == nullptr)
    throw InputError(
        "'" + path +
        "' cannot be merged: an older version of the program wrote it, whose ensembles have no "
        "parts (its group 'parameters' has no 'first-run')");
  const auto* number = std::get_if<std::int64_t>(&first->value);
  if (number == nullptr || *number != part.first || part.first < 0 ||
      part.first > std::int64_t{4294967295} || runs > 4294967295U)
    throw InputError("'" + path +
                     "' is damaged: its coordinate 'run' does not begin at its "
                     "parameter 'first-run'");
  const auto of_runs = [&](std::size_t rows, const std::string& name) {
    if (rows % runs != 0)
      throw InputError("'" + path + "' is damaged: '" + name +
                       "' does not have the same number of places for each run");
  };
  for (const PlacedVariable& variable : variables_of(layout))
    if (is_of_runs(variable)) of_runs(variable.shape.front(), variable.dimensions.front());
  const std::string status = text_of(layout, "", "status");
  if (status == status_word(Status::running))
    throw InputError(
        "'" + path +
        "' is still running, or was killed; let it finish, or complete it by 'resume', before "
        "merging");
  // The message of an unfinished file is about its interruption, not about its runs that have
  // ended.
  if (!is_unfinished(status)) part.message = text_of(layout, "", "status_message");
  part.status = part.file.integers("status", runs);
  part.diverged_at = part.file.reals("diverged_at", runs);
  if (find_attribute(layout, "outcome") != nullptr)
    part.outcome = part.file.integers("outcome", runs);
  require_complete(part.file);
  return part;
}

void require_same_ensemble(const StoredFile& first, const StoredFile& other) {
  for (const char* name : {"system", "mode"}) {
    const std::string ours = text_of(first.layout(), "", name);
    const std::string its = text_of(other.layout(), "", name);
    if (ours != its)
      throw InputError("'" + other.path() + "' has the " + name + " " + its + ", but '" +
                       first.path() + "' has " + ours +
                       "; parts of one ensemble must have the same");
  }
  const auto options = [](const StoredFile& file) {
    return recorded_options(file.path(), text_of(file.layout(), "parameters", "config"));
  };
  require_same_options(options(first), options(other), may_differ,
                       "parts of one ensemble must have the same");
  require_same_layout(first, other);
}

GroupSpec resized(GroupSpec layout, std::int64_t first_run, std::size_t runs) {
  const std::size_t before = find_dimension(layout, "run")->size;
  const auto resize = [&](GroupSpec& group, const std::string& path) {
    for (DimensionSpec& dimension : group.dimensions) {
      if (!is_of_runs(path + dimension.name)) continue;
      dimension.size = dimension.size / before * runs;
      if (dimension.name == "run") dimension.first = first_run;
    }
  };
  resize(layout, "");
  for (GroupSpec& group : layout.groups) resize(group, group.name + "/");
  GroupSpec& parameters = *find_group(layout, "parameters");
  for (Attribute& attribute : parameters.attributes) {
    if (attribute.name == "runs") attribute.value = static_cast<std::int64_t>(runs);
    if (attribute.name == "first-run") attribute.value = first_run;
    auto* text = std::get_if<std::string>(&attribute.value);
    if (text == nullptr) continue;
    if (attribute.name == "not_default") *text = renamed_changes(*text, runs != 1, first_run != 0);
    if (attribute.name == "config")
      *text = with_values(
          *text, {{"runs", std::to_string(runs)}, {"first-run", std::to_string(first_run)}});
  }
  return layout;
}

}  // namespace popflow
