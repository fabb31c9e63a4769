#pragma once

#include <string>

#include "popflow/catalogue.hpp"

namespace popflow::cli {

// Completions of commands, systems, options and their values, axes of sweeps, observables, files
// and names of experiments.

std::string bash_completion(const Catalogue& catalogue);
std::string zsh_completion(const Catalogue& catalogue);
std::string fish_completion(const Catalogue& catalogue);

}  // namespace popflow::cli
