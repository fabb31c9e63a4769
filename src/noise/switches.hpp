#pragma once

#include <algorithm>
#include <vector>

#include "popflow/state.hpp"
#include "popflow/system.hpp"

namespace popflow {

/// The regimes of a run with discrete steps: the first step at whose end a switch function is not
/// positive changes the regime there.
class Switches {
 public:
  explicit Switches(const System& system) : switching_(system.capabilities().switching) {
    if (switching_) values_.resize(switching_->switches());
  }

  /// Changes the regime of the state at time t if it is over.
  void update(State& x, Regime& regime, double t) {
    if (values_.empty()) return;
    switching_->switch_functions({x, regime}, t, values_);
    const bool over =
        std::any_of(values_.begin(), values_.end(), [](double value) { return value <= 0; });
    if (over) switching_->switch_regime(x, regime, t);
  }

  /// Is the system at rest for good?
  [[nodiscard]] bool at_rest(StateView x) const { return switching_ && switching_->at_rest(x); }

 private:
  Capability<Switching> switching_;
  std::vector<double> values_;
};

}  // namespace popflow
