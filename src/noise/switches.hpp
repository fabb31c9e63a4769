#pragma once

#include <algorithm>
#include <vector>

#include "popflow/state.hpp"
#include "popflow/system.hpp"

namespace popflow {

/// The modes of a run that moves by steps of its own: the first step at whose end a switch function
/// is not positive changes the mode there. Which mode the run is in is in its state, so nothing
/// must be remembered to resume it.
class Switches {
 public:
  explicit Switches(const System& system) : system_(system), values_(system.switches()) {}

  /// Looks at the state at time t, and changes its mode if that is over.
  void look(State& x, double t) {
    if (values_.empty()) return;
    system_.switch_functions(x, t, values_);
    const bool over =
        std::any_of(values_.begin(), values_.end(), [](double value) { return value <= 0; });
    if (over) system_.switch_mode(x, t);
  }

 private:
  const System& system_;
  std::vector<double> values_;
};

}  // namespace popflow
