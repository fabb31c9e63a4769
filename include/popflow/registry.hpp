#pragma once

#include <memory>
#include <string>
#include <vector>

#include "popflow/parameter.hpp"
#include "popflow/system.hpp"
#include "popflow/workers.hpp"

namespace popflow {

/// What a System is made from: its own parameters (sizes found in an input file are resolved into
/// them), the options that every system shares (problem, problem-seed, init-from), and threads.
struct Ingredients {
  Parameters& own;
  const Parameters& shared;
  Workers& workers;
};

/// One row per system.
struct RegistryRow {
  const SystemInfo& (*info)();
  std::unique_ptr<System> (*make)(Ingredients);
};

/// The systems, in the order in which they are listed.
const std::vector<RegistryRow>& registry();

/// The row of a system; UsageError with the nearest name if there is none.
const RegistryRow& find_system(const std::string& name);

}  // namespace popflow
