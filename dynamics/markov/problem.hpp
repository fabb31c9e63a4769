#pragma once

#include <vector>

#include "dynamics/markov/chain.hpp"
#include "popflow/setting.hpp"

namespace popflow::markov {

/// A chain, and a note on its origin.
struct Problem {
  Chain chain;
  std::vector<Note> notes = {};
};

/// The chain of --p and --q, of a text's letters, or of a problem file, as the parameters say;
/// resolves p and q into `from.own`. Throws UsageError for conflicting options and for invalid
/// probabilities, InputError for a file that is missing or wrong.
Problem make_problem(const Ingredients& from);

}  // namespace popflow::markov
