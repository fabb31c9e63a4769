#include "sweep/values.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "popflow/parameter.hpp"
#include "sweep/layout.hpp"
#include "text/text.hpp"

namespace popflow {

SweepValues::SweepValues(const DataFile& file, const std::string& name) {
  const DataArray array = file.read(name);
  numbers_ = array.values;
  whole_ = !array.integers.empty();
  words_ = text::split_words(file.text_attribute(name, "flag_meanings").value_or(""));
}

std::string SweepValues::together(std::size_t first, std::size_t count) const {
  if (count == 1) return shown(first, true);
  if (words_.empty()) {
    const double median = number_together(first, count);
    return std::isnan(median) ? "-" : text::rounded(median);
  }
  std::map<std::string, std::size_t> counts;
  for (std::size_t i = first; i < first + count; ++i) ++counts[shown(i, true)];
  const auto most = std::max_element(counts.begin(), counts.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  if (most->second == count) return most->first;
  return most->first + " " + std::to_string(100 * most->second / count) + "%";
}

double SweepValues::number_together(std::size_t first, std::size_t count) const {
  if (count == 1) return numbers_[first];
  std::vector<double> finite;
  for (std::size_t i = first; i < first + count; ++i)
    if (!std::isnan(numbers_[i])) finite.push_back(numbers_[i]);
  if (finite.empty()) return std::numeric_limits<double>::quiet_NaN();
  if (!words_.empty()) {
    std::map<double, std::size_t> counts;
    for (const double value : finite) ++counts[value];
    return std::max_element(counts.begin(), counts.end(),
                            [](auto& a, auto& b) { return a.second < b.second; })
        ->first;
  }
  const auto middle = finite.begin() + static_cast<std::ptrdiff_t>(finite.size() / 2);
  std::nth_element(finite.begin(), middle, finite.end());
  return *middle;
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
                            cells.is_coordinate(name);  // those of a shard are along `cell`
    if (!coordinate && (dimensions == of_cell || dimensions == of_run)) names.push_back(name);
  }
  return names;
}

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

}  // namespace popflow
