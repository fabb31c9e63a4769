#pragma once

#include <string>
#include <vector>

#include "dynamics/markov/chain.hpp"
#include "popflow/registry.hpp"

namespace popflow::markov {

/// A chain, and what is worth telling about where it comes from.
struct Problem {
  Chain chain;
  std::vector<std::string> notes = {};
};

/// The chain of --p and --q, of a text's letters, or of a problem file, as the parameters say;
/// resolves p and q into `ingredients.own`. Throws UsageError for contradictions and for
/// probabilities that cannot be, InputError for a file that is missing or wrong.
Problem make_problem(Ingredients ingredients);

}  // namespace popflow::markov
