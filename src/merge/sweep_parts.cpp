#include "merge/sweep_parts.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "engine/interrupt.hpp"
#include "engine/made_of_files.hpp"
#include "engine/status.hpp"
#include "merge/same_options.hpp"
#include "popflow/data_file.hpp"
#include "popflow/error.hpp"
#include "run/resume_config.hpp"
#include "sweep/read_files.hpp"
#include "sweep/sweep.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// Returns whether a file has the system and the format of the first file.
bool is_alike(const StoredFile& file, const StoredFile& first) {
  const auto version = [](const StoredFile& of) {
    const Attribute* const attribute = find_attribute(of.layout(), "format_version");
    return attribute == nullptr ? decltype(attribute->value)() : attribute->value;
  };
  const auto same = [&](const char* group, const char* name) {
    return text_of(file.layout(), group, name) == text_of(first.layout(), group, name);
  };
  return same("", "system") && same("provenance", "plugin_hash") && version(file) == version(first);
}

/// Returns the cells of a part. `first` is null for the first part. A part that is like the first
/// need not be opened once more to check its system and format.
std::unique_ptr<Cells> cells_of(const StoredFile& file, const SweepPart* first,
                                const Catalogue& catalogue) {
  if (first == nullptr || !is_alike(file, first->file))
    return std::make_unique<Cells>(sweep_config(DataFile(file.path()), catalogue));
  RunConfig config = blaming_file(file.path(), [&] {
    return sweep_from_config_text(catalogue.info(text_of(file.layout(), "", "system")),
                                  text_of(file.layout(), "parameters", "config"), file.path());
  });
  return std::make_unique<Cells>(std::move(config), first->cells.get());
}

}  // namespace

std::vector<SweepPart> read_sweep_parts(const std::vector<std::string>& files,
                                        const Catalogue& catalogue) {
  std::vector<SweepPart> parts;
  for (const std::string& path : files) {
    throw_if_interrupted();
    SweepPart& part = parts.emplace_back(path);
    if (find_group(part.file.layout(), "sweep") == nullptr)
      throw InputError("'" + path + "' is not a sweep of popflow, but '" + files.front() +
                       "' is one");
    require_complete(part.file);
    const SweepPart* const first = parts.size() == 1 ? nullptr : &parts.front();
    part.cells = cells_of(part.file, first, catalogue);
    part.status = part.file.integers("status", part.file.size("status"));
    const std::uint64_t each = part.cells->sweep().options.has("reduce") ? 1 : part.cells->runs();
    if (part.status.size() != part.cells->size() * each)
      throw InputError("'" + path +
                       "' is damaged: the shape of 'status' does not match its cells and runs");
  }
  return parts;
}

namespace {

RecordedOptions options_of(const SweepPart& part) {
  return recorded_options(part.path(), config_text(part.cells->sweep()));
}

/// `options` are those of the first part.
void require_same_sweep(const SweepPart& first, const RecordedOptions& options,
                        const SweepPart& other) {
  if (first.cells->sweep().system != other.cells->sweep().system)
    throw InputError("'" + other.path() + "' is a sweep of " + other.cells->sweep().system +
                     ", but '" + first.path() + "' is a sweep of " + first.cells->sweep().system);
  require_same_options(
      options, options_of(other),
      [](const std::string& option) { return option == "over" || !decides_numbers(option); },
      "files of one sweep must agree in all options");
}

/// Returns the values of an axis in all parts: numbers sorted, words in the order of the files.
std::string all_values(const std::vector<SweepPart>& parts, std::size_t axis) {
  const SweptParameter& first = parts.front().cells->axes()[axis].parameters.front();
  std::vector<std::string> words;
  std::set<double> numbers;
  for (const SweepPart& part : parts) {
    const SweptParameter& swept = part.cells->axes()[axis].parameters.front();
    numbers.insert(swept.numbers.begin(), swept.numbers.end());
    for (const std::string& word : swept.words)
      if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  }
  for (const double number : numbers) words.push_back(shortest(number));
  std::string list;
  for (const std::string& word : words) {
    list += (list.empty() ? "" : ",") + text::escaped(word, ',');
  }
  return first.name() + "=" + list;
}

}  // namespace

RunConfig whole_sweep(const std::vector<SweepPart>& parts) {
  const SweepPart& first = parts.front();
  RunConfig config = first.cells->sweep();
  config.options.unset("shard");
  const RecordedOptions options = options_of(first);
  std::optional<std::size_t> grows;
  for (const SweepPart& other : parts) {
    require_same_sweep(first, options, other);
    // The whole may be resumed at cells that one of the parts was allowed to skip.
    if (other.cells->sweep().options.flag("keep-going")) config.options.resolve("keep-going", true);
    const std::vector<Axis>&ours = first.cells->axes(), &its = other.cells->axes();
    if (ours.size() != its.size() ||
        !std::equal(ours.begin(), ours.end(), its.begin(), same_parameters))
      throw InputError("'" + other.path() + "' and '" + first.path() +
                       "' have different swept parameters, or in a different order");
    for (std::size_t axis = 0; axis < ours.size(); ++axis) {
      if (same_values(ours[axis], its[axis])) continue;
      if (grows && *grows != axis)
        throw InputError("'" + other.path() + "' and '" + first.path() +
                         "' differ in the values of " + ours[*grows].dimension + " and of " +
                         ours[axis].dimension +
                         "; sweeps can be merged only if they differ in a single axis");
      if (ours[axis].indexed)
        throw InputError("'" + other.path() + "' and '" + first.path() +
                         "' differ in the values along '" + ours[axis].dimension +
                         "', where several parameters change together; only axes of a single "
                         "parameter can be extended");
      grows = axis;
    }
  }
  if (!grows) return config;
  std::string over;
  const std::string name = first.cells->axes()[*grows].parameters.front().name();
  for (const std::string& line : text::lines(config.options.text("over"))) {
    std::string parameter = line.substr(0, line.find('='));
    if (parameter.starts_with("--")) parameter = parameter.substr(2);
    over += (over.empty() ? "" : "\n") + (parameter == name ? all_values(parts, *grows) : line);
  }
  config.options.resolve("over", over);
  return config;
}

std::vector<std::uint64_t> places_of_cells(const Cells& part, const Cells& whole) {
  // For each axis of the part, the places of its values in the whole; empty if they are the same.
  std::vector<std::vector<std::size_t>> along(whole.axes().size());
  for (std::size_t axis = 0; axis < along.size(); ++axis) {
    const SweptParameter& here = part.axes()[axis].parameters.front();
    const SweptParameter& there = whole.axes()[axis].parameters.front();
    if (same_values(part.axes()[axis], whole.axes()[axis])) continue;
    std::map<std::string, std::size_t> place_of;
    for (std::size_t i = 0; i < there.size(); ++i) place_of[there.text(i)] = i;
    for (std::size_t i = 0; i < here.size(); ++i) along[axis].push_back(place_of.at(here.text(i)));
  }
  std::vector<std::uint64_t> places;
  for (std::uint64_t cell = 0; cell < part.size(); ++cell) {
    const std::vector<std::size_t> at = part.places(part.number(cell));
    std::uint64_t number = 0;
    for (std::size_t axis = 0; axis < at.size(); ++axis)
      number = number * whole.axes()[axis].size() +
               (along[axis].empty() ? at[axis] : along[axis][at[axis]]);
    places.push_back(number);
  }
  return places;
}

void require_all(const std::vector<Owner>& owners, const std::vector<SweepPart>& parts,
                 const Cells& whole) {
  std::uint64_t missing = 0;
  std::vector<std::string> some;
  for (std::uint64_t cell = 0; cell < owners.size(); ++cell) {
    if (!owners[cell].is_missing()) continue;
    if (++missing <= 3) some.push_back(whole.describe(cell));
  }
  if (missing == 0) return;
  std::string shards;
  const std::uint64_t of = parts.front().cells->shard().of;
  std::set<std::uint64_t> there;
  for (const SweepPart& part : parts)
    if (part.cells->shard().of == of) there.insert(part.cells->shard().number);
  for (std::uint64_t i = 1; of > 1 && i <= of; ++i)
    if (!there.contains(i)) shards += (shards.empty() ? "" : ", ") + std::to_string(i);
  std::string unfinished;
  for (const SweepPart& part : parts)
    if (std::find(part.status.begin(), part.status.end(),
                  static_cast<std::int64_t>(Status::missing)) != part.status.end())
      unfinished += (unfinished.empty() ? "" : ", ") + ("'" + part.path() + "'");
  throw InputError(
      std::to_string(missing) + " of " + std::to_string(owners.size()) +
      " cells are in none of the files" +
      (shards.empty() ? "" : ": shard " + shards + " of " + std::to_string(of)) + " (" +
      text::join(some, "; ") + (missing > 3 ? "; ..." : "") + ")" +
      (unfinished.empty() ? "" : "; 'resume' completes " + unfinished) +
      "; --allow-missing marks them as missing, so that 'resume' can compute them later");
}

}  // namespace popflow
