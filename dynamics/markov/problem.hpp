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

/// Makes the chain from --p and --q, a text's letters, or a problem file, according to the
/// parameters; resolves p and q into `from.own`. Throws UsageError for conflicting options and
/// invalid probabilities, InputError for a missing or wrong file.
Problem make_problem(const Ingredients& from);

}  // namespace popflow::markov
