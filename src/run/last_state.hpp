#pragma once

#include <string>

#include "options/run_config.hpp"
#include "popflow/catalogue.hpp"
#include "popflow/setting.hpp"

namespace popflow {

/// The newest intact state in a run's file, with its system, rebuilt from the file alone. Throws
/// InputError if `path` is no popflow file, holds no intact restart slot, or was written by a
/// program whose state is laid out differently.
LastState load_last_state(const std::string& path, const Catalogue& catalogue, Workers& workers);

/// Makes the System that a configuration asks for; its steps must be settled. Reads what
/// --init-from names. Throws what the system refuses.
Made make_system(const RunConfig& config, const Catalogue& catalogue, Workers& workers);

}  // namespace popflow
