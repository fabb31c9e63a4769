#pragma once

#include <algorithm>
#include <string>

#include "popflow/system.hpp"

namespace popflow::test {

/// Returns the floor that a system declares for an observable; 0 if there is none.
inline double floor_of(const System& system, const std::string& observable) {
  const auto& all = system.info().observables;
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const ObservableInfo& info) { return info.name == observable; });
  return found == all.end() ? 0 : found->floor;
}

}  // namespace popflow::test
