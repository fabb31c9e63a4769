#include "sweep/values.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "engine/status.hpp"
#include "numerics/median.hpp"
#include "popflow/error.hpp"
#include "popflow/parameter.hpp"
#include "sweep/layout.hpp"
#include "text/text.hpp"

namespace popflow {

SweepValues::SweepValues(const DataFile& file, const std::string& name) {
  const DataArray array = file.read(name);
  numbers_ = array.values;
  whole_ = !array.integers.empty();
  words_ = text::split_words(file.text_attribute(name, "flag_meanings").value_or(""));
  if (name == "status" || !file.has_dataset("status") ||
      file.dimensions(name) != file.dimensions("status"))
    return;
  // The time and the number of steps are also known for a run that diverged.
  const bool of_all = name == "stop_time" || name == "accepted_steps";
  for (const std::int64_t status : file.read("status").integers) {
    const auto word = static_cast<Status>(status);
    gone_.push_back(word == Status::missing || word == Status::refused ||
                    (word == Status::diverged && !of_all));
  }
  if (gone_.size() != numbers_.size())
    throw InputError("'" + file.path() + "' is damaged: " + name + " has " +
                     std::to_string(numbers_.size()) + " elements, but status has " +
                     std::to_string(gone_.size()));
}

SweepValues::SweepValues(const DataFile& file, const std::string& name, const Cells& cells)
    : SweepValues(file, name) {
  const auto of_cells = static_cast<std::size_t>(cells.size());
  const std::size_t of_runs = of_cells * static_cast<std::size_t>(cells.runs());
  if (size() == of_cells || size() == of_runs) return;
  throw InputError("'" + file.path() + "' is damaged: " + name + " has " + std::to_string(size()) +
                   " elements for " + std::to_string(of_cells) + " cells");
}

std::size_t SweepValues::counted(std::size_t first, std::size_t count) const {
  std::size_t counted = 0;
  for (std::size_t i = first; i < first + count; ++i) counted += counts(i) ? 1 : 0;
  return counted;
}

std::string SweepValues::together(std::size_t first, std::size_t count) const {
  if (counted(first, count) == 0) return "-";
  if (count == 1) return shown(first, true);
  if (words_.empty()) {
    const double middle = number_together(first, count);
    return std::isnan(middle) ? "-" : text::rounded(middle);
  }
  std::map<std::string, std::size_t> found;
  for (std::size_t i = first; i < first + count; ++i)
    if (counts(i)) ++found[shown(i, true)];
  const auto most = std::max_element(found.begin(), found.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  const std::size_t all = counted(first, count);
  if (most->second == all) return most->first;
  return most->first + " " + std::to_string(100 * most->second / all) + "%";
}

double SweepValues::number_together(std::size_t first, std::size_t count) const {
  std::vector<double> finite;
  for (std::size_t i = first; i < first + count; ++i)
    if (counts(i) && !std::isnan(numbers_[i])) finite.push_back(numbers_[i]);
  if (!words_.empty() && !finite.empty()) {
    std::map<double, std::size_t> found;
    for (const double value : finite) ++found[value];
    return std::max_element(found.begin(), found.end(),
                            [](auto& a, auto& b) { return a.second < b.second; })
        ->first;
  }
  return median(std::move(finite));
}

std::string SweepValues::shown(std::size_t i, bool brief) const {
  const double value = numbers_[i];
  if (std::isnan(value)) return brief ? "-" : "nan";
  if (!words_.empty() && value < 0) return brief ? "-" : "missing";
  if (!words_.empty() && value >= 0 && value < static_cast<double>(words_.size()))
    return words_[static_cast<std::size_t>(value)];
  if (whole_) return std::to_string(static_cast<std::int64_t>(value));
  return brief ? text::rounded(value) : shortest(value);
}

std::vector<std::string> numbers_of_cells(const DataFile& file, const Cells& cells) {
  const std::vector<std::string> of_cell = cell_dimensions(cells);
  std::vector<std::string> of_run = of_cell;
  of_run.push_back("run");
  std::vector<std::string> names;
  for (const std::string& name : file.members("/")) {
    if (!file.has_dataset(name)) continue;
    const std::vector<std::string> dimensions = file.dimensions(name);
    const bool coordinate = (dimensions.size() == 1 && dimensions[0] == name) ||
                            cells.is_coordinate(name);  // in a shard, coordinates are along `cell`
    if (!coordinate && (dimensions == of_cell || dimensions == of_run)) names.push_back(name);
  }
  return names;
}

bool varies(const DataFile& file, const std::string& name) {
  const DataArray array = file.read(name);
  const std::vector<double> values =
      array.integers.empty() ? array.values
                             : std::vector<double>(array.integers.begin(), array.integers.end());
  return std::any_of(values.begin(), values.end(), [&](double x) {
    return std::isnan(x) != std::isnan(values.front()) || x < values.front() || x > values.front();
  });
}

std::string main_variable(const DataFile& file, const std::vector<std::string>& names) {
  for (const bool whichever : {false, true})
    for (const char* first : {"outcome", "fraction_of_", "time_of_"})
      for (const std::string& name : names)
        if (name.starts_with(first) && name != "fraction_of_undecided" &&
            (whichever || varies(file, name)))
          return name;
  for (const std::string& name : names) {
    const bool known = name == "stop_time" || name == "status" || name == "accepted_steps" ||
                       name == "seed" || name == "status_count";
    if (!known) return name;
  }
  return "status";
}

}  // namespace popflow
