#pragma once

#include "popflow/state.hpp"
#include "popflow/state_view.hpp"
#include "popflow/system.hpp"

namespace popflow {

/// State and regime in which a System starts.
struct StartState {
  explicit StartState(const System& system) : x(system.shape().state_size()) {
    system.start(x);
    if (const Capability<Switching> switching = system.capabilities().switching)
      regime = switching->first_regime();
  }

  State x;
  Regime regime;

  [[nodiscard]] StateView view() const { return {x, regime}; }
};

}  // namespace popflow
