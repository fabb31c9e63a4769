#include "merge/same_options.hpp"

#include <set>

#include "options/config_file.hpp"
#include "options/run_config.hpp"
#include "popflow/error.hpp"

namespace popflow {

std::string RecordedOptions::text(const std::string& option) const {
  const auto found = values.find(option);
  return found == values.end() ? "none" : found->second;
}

RecordedOptions recorded_options(const std::string& path, const std::string& config) {
  RecordedOptions recorded{path, {}};
  const auto may_repeat = [](const std::string&) { return true; };
  for (const options::ConfigLine& line : options::config_lines(config, path, may_repeat))
    recorded.values[line.key] = line.value;
  for (const auto& [option, held] : legacy_defaults()) recorded.values.try_emplace(option, held);
  return recorded;
}

void require_same_options(const RecordedOptions& first, const RecordedOptions& other,
                          const std::function<bool(const std::string&)>& may_differ,
                          const std::string& rule) {
  std::set<std::string> options;
  for (const RecordedOptions* recorded : {&first, &other})
    for (const auto& [option, value] : recorded->values) options.insert(option);
  for (const std::string& option : options)
    if (!may_differ(option) && first.text(option) != other.text(option))
      throw InputError("'" + other.path + "' has --" + option + " " + other.text(option) +
                       ", but '" + first.path + "' has " + first.text(option) + "; " + rule);
}

}  // namespace popflow
