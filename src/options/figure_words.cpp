#include "options/figure_words.hpp"

#include <algorithm>
#include <vector>

#include "observed/observed_info.hpp"
#include "popflow/error.hpp"
#include "text/text.hpp"

namespace popflow::options {
namespace {

/// Returns all names that a figure may show, observables first.
std::vector<std::string> names_of(const SystemInfo& system) {
  std::vector<std::string> names;
  const auto add = [&](const auto& values) {
    for (const auto& value : values) names.push_back(value.name);
  };
  add(system.observables);
  if (std::ranges::find(system.observables, std::string(kSharpness), &ObservableInfo::name) !=
      system.observables.end())
    names.push_back(sharpness_threshold().name);
  names.push_back(scheduled_learning_rate().name);
  add(system.fields);
  add(system.passages);
  add(system.events);
  add(system.constants);
  add(system.problem);
  add(system.parameters);
  return names;
}

bool is_keyword(const std::string& word) {
  const std::vector<std::string> keywords = {"outcome", "over", "at", "when", "by", "beside"};
  return std::ranges::find(keywords, word) != keywords.end();
}

}  // namespace

std::string unknown_in_figure(std::string panels, const SystemInfo& system) {
  std::replace(panels.begin(), panels.end(), ';', ' ');
  const std::vector<std::string> known = names_of(system);
  for (const std::string& word : text::split_words(panels))
    if (!is_keyword(word) && std::ranges::find(known, word) == known.end()) return word;
  return "";
}

void require_figure(const Parameters& options, const SystemInfo& system) {
  if (options.find("figure") == nullptr || !options.has("figure")) return;
  const std::string& panels = options.word("figure");
  const std::string unknown = unknown_in_figure(panels, system);
  const bool empty = panels.find_first_not_of("; \t\n") == std::string::npos;
  if (unknown.empty() && !empty) return;
  const std::string near = nearest(unknown, names_of(system));
  const std::string sentence =
      empty ? "--figure is empty; name what the figure shows, for example \"loss; y over x\""
            : "--figure shows '" + unknown + "', which " + system.name + " does not have" +
                  (near.empty() ? " ('popflow systems " + system.name + "' lists its names)"
                                : "; did you mean '" + near + "'?");
  if (options.origin("figure") == Origin::config) throw InputError(sentence);
  throw UsageError(sentence);
}

}  // namespace popflow::options
