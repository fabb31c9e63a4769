#pragma once

#include <string>
#include <vector>

namespace popflow::options {

/// End of a sentence about an unknown option or key: ": the learning rate is --learning-rate", or
/// "; did you mean '--t-end'?". Options of other programs of the field are answered with the
/// options that popflow has instead, if they are among `offered`, the options of the command.
/// `word` is without dashes; `prefix` goes before a suggested name. Empty if there is nothing to
/// suggest.
std::string hint_for(const std::string& word, const std::vector<std::string>& offered,
                     const std::string& prefix = "");

}  // namespace popflow::options
