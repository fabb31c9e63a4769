#pragma once

#include <string>

namespace popflow::options {

/// Answer to an option that other programs of the field have and popflow calls something else, or
/// has not: a clause that names what to take instead. `word` is without dashes. Empty for a word
/// that the field does not have.
std::string answer_to(const std::string& word);

}  // namespace popflow::options
