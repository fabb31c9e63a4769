#pragma once

#include <vector>

#include "popflow/state.hpp"
#include "steppers/stepper.hpp"

namespace popflow {

/// States within a step by shorter steps of the method from the same point, for steps that have no
/// dense output. Methods of fixed order accept any fraction of an accepted step; one that starts at
/// a low order (Bulirsch-Stoer) may need several steps for it, the fewer and cheaper the shorter
/// the way is: so these go on from the nearest of the last few places.
class PartialSteps {
 public:
  /// Another step begins.
  void begin() { places_.clear(); }
  /// Writes to `out` the state after a fraction `part` of the step of length h from x at t. The
  /// stepper's last attempt is then no longer that step.
  void take(Stepper& stepper, const State& x, double t, double h, bool jumps, double part,
            State& out);

 private:
  struct Place {
    double part;
    State x;
  };
  void remember(double part, const State& x);

  std::vector<Place> places_;  ///< in order of time
};

}  // namespace popflow
