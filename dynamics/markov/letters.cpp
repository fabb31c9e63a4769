#include "dynamics/markov/letters.hpp"

#include <set>
#include <string_view>

#include "dynamics/common/text_units.hpp"
#include "popflow/error.hpp"

namespace popflow::markov {

namespace {

using Class = std::set<std::string, std::less<>>;

Class class_of(const std::string& option, const std::string& characters) {
  if (find_invalid_utf8(characters) != std::string_view::npos)
    throw UsageError("--" + option + " is not valid UTF-8");
  const auto units = characters_of(characters);
  if (units.empty()) throw UsageError("--" + option + " is empty; give at least one character");
  return {units.begin(), units.end()};
}

}  // namespace

TransitionCounts count_transitions(const std::string& path, const std::string& ones,
                                   const std::optional<std::string>& zeros) {
  const Class one = class_of("text-ones", ones);
  const Class zero = zeros ? class_of("text-zeros", *zeros) : Class{};
  for (const std::string& character : zero)
    if (one.contains(character))
      throw UsageError("--text-ones and --text-zeros both have '" + label_of(character) +
                       "'; a character can have only one class");

  TransitionCounts counts;
  std::optional<int> previous;
  const auto symbol_of = [&](std::string_view unit) -> std::optional<int> {
    if (one.contains(unit)) return 1;
    if (zero.contains(unit)) return 0;
    if (!is_letter(unit)) return std::nullopt;
    const std::string base = base_letter(unit);
    if (one.contains(base)) return 1;
    return zeros && !zero.contains(base) ? std::nullopt : std::optional(0);
  };
  for_each_unit(path, TextUnit::character, [&](std::string_view unit) {
    const std::optional<int> symbol = symbol_of(unit);
    if (!symbol) return;
    if (previous) ++counts.of[*previous][*symbol];
    previous = symbol;
  });
  return counts;
}

}  // namespace popflow::markov
