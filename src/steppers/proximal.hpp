#pragma once

#include "steppers/stepper.hpp"

namespace popflow {

/// Forward-backward splitting for a System with a proximal term: a smooth step of length h (one
/// step of a fixed-step method, or an adaptive integration over h), then the proximal map. Of order
/// 1 in h, with exact zeros. The result is itself a method of fixed step.
std::unique_ptr<Stepper> make_proximal(std::unique_ptr<Stepper> smooth, const System& system);

}  // namespace popflow
