#include "steppers/lane_stepper.hpp"

namespace popflow {

LaneStepper::LaneStepper(const LaneFormulas& formulas, ErrorNorm norm)
    : of(formulas.sizes.parameters),
      x(formulas.sizes.entries),
      tolerance(formulas.sizes.entries + 1),
      h(1),
      x_new(formulas.sizes.entries),
      error(1),
      factor(1),
      formulas_(formulas),
      norm_(norm),
      slope_(formulas.sizes.entries) {}

void LaneStepper::begin(const double* fresh) {
  flow(x, x_new);
  slope_.take(fresh, x_new);
}

}  // namespace popflow
