#include "options/axis_words.hpp"

namespace popflow::options {

std::optional<AxisWords> axis_words(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return std::nullopt;
  AxisWords words{std::nullopt, text.substr(0, equals), text.substr(equals + 1)};
  std::string& name = words.parameter;
  if (const std::size_t colon = name.find(':'); colon != std::string::npos) {
    words.label = name.substr(0, colon);
    name = name.substr(colon + 1);
  }
  if (name.starts_with("--")) name = name.substr(2);
  return words;
}

}  // namespace popflow::options
