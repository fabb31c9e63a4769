#pragma once

#include <optional>
#include <string>
#include <vector>

#include "popflow/last_state.hpp"
#include "popflow/registry.hpp"
#include "popflow/system.hpp"

namespace popflow {

/// The last state in the file that --init-from names, which must be given. Throws InputError unless
/// the file is a run of the system called `name`.
LastState last_state_of(const std::string& name, const Ingredients& from);

/// The whole last state in the file that --init-from names, if it is given: for systems that start
/// from nothing less. Throws InputError unless the file is a run of the system `info` whose state
/// has the same blocks.
std::optional<std::vector<double>> whole_start(const Ingredients& from, const SystemInfo& info,
                                               const std::vector<StateBlock>& blocks);

}  // namespace popflow
