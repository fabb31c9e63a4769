#pragma once

#include <string>
#include <vector>

namespace popflow::options {

/// Returns the end of a sentence about an unknown option or key: ": the learning rate is
/// --learning-rate", or "; did you mean '--t-end'?". For an option of another program of the field,
/// the answer names popflow's own option, if `offered` (the options of the command) has that one.
/// `word` has no dashes; `prefix` goes before a suggested name. Empty if there is nothing to
/// suggest.
std::string hint_for(const std::string& word, const std::vector<std::string>& offered,
                     const std::string& prefix = "");

}  // namespace popflow::options
