#include "steppers/lane_stepper.hpp"

namespace popflow {

LaneStepper::LaneStepper(const LaneFormulas& formulas, ErrorNorm norm)
    : of(formulas.parameters()),
      x(formulas.entries()),
      tolerance(formulas.entries() + 1),
      h(1),
      t(1),
      x_new(formulas.entries()),
      error(1),
      factor(1),
      formulas_(formulas),
      norm_(norm),
      slope_(formulas.entries()) {}

void LaneStepper::begin(const double* fresh) {
  flow(x, x_new, t.data());
  slope_.take(fresh, x_new);
}

}  // namespace popflow
