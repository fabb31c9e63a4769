#pragma once

#include "options/run_config.hpp"
#include "popflow/systems.hpp"
#include "run/last_state.hpp"

namespace popflow::test {

/// Parses the words after `popflow run NAME`, for a system that ships with popflow.
inline RunConfig parse(const std::string& system, const std::vector<std::string>& words) {
  return parse_run(systems().info(system), words);
}

/// Makes the system of a configuration, as an experiment would.
inline Made make_system(const RunConfig& config, Workers& workers) {
  return popflow::make_system(config, systems(), workers);
}

}  // namespace popflow::test
