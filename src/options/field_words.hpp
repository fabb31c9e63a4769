#pragma once

#include <string>

namespace popflow::options {

/// Hint for an option that other programs of the field have but popflow calls differently or does
/// not have: a clause that names the replacement. `word` is without dashes. Empty for an unknown
/// word.
std::string answer_to(const std::string& word);

}  // namespace popflow::options
