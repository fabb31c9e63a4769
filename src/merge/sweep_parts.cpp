#include "merge/sweep_parts.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "engine/interrupt.hpp"
#include "engine/status.hpp"
#include "merge/same_options.hpp"
#include "popflow/data_file.hpp"
#include "popflow/error.hpp"
#include "run/experiment.hpp"
#include "sweep/read_files.hpp"
#include "sweep/sweep.hpp"
#include "text/text.hpp"

namespace popflow {

std::size_t SweepPart::finished(std::uint64_t cell) const {
  const std::size_t each = runs();
  const auto first = status.begin() + static_cast<std::ptrdiff_t>(cell * each);
  return each -
         static_cast<std::size_t>(std::count(first, first + static_cast<std::ptrdiff_t>(each),
                                             static_cast<std::int64_t>(Status::missing)));
}

std::vector<SweepPart> read_sweep_parts(const std::vector<std::string>& files,
                                        const Catalogue& catalogue) {
  std::vector<SweepPart> parts;
  for (const std::string& path : files) {
    look_for_signals();
    const DataFile file(path);
    if (kind_of(file) != FileKind::sweep)
      throw InputError("'" + path + "' is not a file of a popflow sweep, as '" + files.front() +
                       "' is");
    SweepPart& part = parts.emplace_back();
    part.path = path;
    part.cells = std::make_unique<Cells>(sweep_config(file, catalogue));
    part.status = file.read("status").integers;
    const std::uint64_t each = part.cells->sweep().options.has("reduce") ? 1 : part.cells->runs();
    if (part.status.size() != part.cells->size() * each)
      throw InputError("'" + path + "' is damaged: 'status' has another shape");
  }
  return parts;
}

namespace {

void require_same_sweep(const SweepPart& first, const SweepPart& other) {
  if (first.cells->sweep().system != other.cells->sweep().system)
    throw InputError("'" + other.path + "' is a sweep of " + other.cells->sweep().system + ", '" +
                     first.path + "' of " + first.cells->sweep().system);
  require_same_options(
      recorded_options(first.path, config_text(first.cells->sweep())),
      recorded_options(other.path, config_text(other.cells->sweep())),
      [](const std::string& option) { return option == "over" || !decides_numbers(option); },
      "files of one sweep agree in all options");
}

/// The values of an axis in all parts: numbers in their order, words as they came.
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
  std::optional<std::size_t> grows;
  for (const SweepPart& other : parts) {
    require_same_sweep(first, other);
    // Whoever resumes the whole may come to cells that one part could do without.
    if (other.cells->sweep().options.flag("keep-going")) config.options.resolve("keep-going", true);
    const std::vector<Axis>&ours = first.cells->axes(), &its = other.cells->axes();
    if (ours.size() != its.size() ||
        !std::equal(ours.begin(), ours.end(), its.begin(), same_parameters))
      throw InputError("'" + other.path + "' sweeps over other parameters than '" + first.path +
                       "', or in another order");
    for (std::size_t axis = 0; axis < ours.size(); ++axis) {
      if (same_values(ours[axis], its[axis])) continue;
      if (grows && *grows != axis)
        throw InputError("'" + other.path + "' and '" + first.path + "' differ in the values of " +
                         ours[*grows].dimension + " and of " + ours[axis].dimension +
                         "; sweeps can be merged that differ in one axis alone");
      if (ours[axis].indexed)
        throw InputError("'" + other.path + "' and '" + first.path +
                         "' differ in the values along '" + ours[axis].dimension +
                         "', where parameters change together; only axes of one parameter grow");
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

}  // namespace popflow
