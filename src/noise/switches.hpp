#pragma once

#include <algorithm>
#include <vector>

#include "popflow/state.hpp"
#include "popflow/system.hpp"

namespace popflow {

/// Regimes of a run with discrete steps. The regime changes at the end of the first step after
/// which a switch function is not positive.
class Switches {
 public:
  explicit Switches(const System& system) : switching_(system.capabilities().switching) {
    if (switching_) values_.resize(switching_->switches());
  }

  /// Updates the regime at time t if it is over.
  void update(State& x, Regime& regime, double t) {
    if (values_.empty()) return;
    switching_->switch_functions({x, regime}, t, values_);
    const bool over =
        std::any_of(values_.begin(), values_.end(), [](double value) { return value <= 0; });
    if (over) switching_->switch_regime(x, regime, t);
  }

  /// Whether the system is permanently at rest.
  [[nodiscard]] bool at_rest(StateView x) const { return switching_ && switching_->at_rest(x); }

 private:
  Capability<Switching> switching_;
  std::vector<double> values_;
};

}  // namespace popflow
