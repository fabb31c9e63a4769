#pragma once

#include <vector>

#include "popflow/state.hpp"
#include "steppers/stepper.hpp"

namespace popflow {

/// States within a step, for methods without dense output. They are computed by shorter steps of
/// the method from the start of the step. A method of fixed order accepts any fraction of an
/// accepted step. A method that starts at a low order (Bulirsch-Stoer) may need several steps, but
/// fewer for a shorter distance; it therefore continues from the nearest state computed lately.
class PartialSteps {
 public:
  /// Begins another step.
  void begin() { places_.clear(); }
  /// Writes to `out` the state after the fraction `part` of the step of length h from x at t.
  /// Overwrites the stepper's last attempt.
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
