#pragma once

#include "steppers/stepper.hpp"

namespace popflow {

/// Forward-backward splitting for a System with a proximal term: a smooth step of length h (one
/// step of a fixed-step method, or an adaptive integration over h), then the proximal map. Of order
/// 1 in h, with exact zeros. The result is itself a method of fixed step. `regime` is the driver's;
/// `longest` bounds the steps of an adaptive integration.
std::unique_ptr<Stepper> make_splitting(std::unique_ptr<Stepper> smooth, const Proximal& term,
                                        const Regime& regime, double longest);

/// Splitting with steps that an error estimate chooses: one step of the splitting against two of
/// half the length. The result is extrapolated from the two, of order 2. Entries at rest stay
/// exactly where they are; one may go past zero, by no more than a step may err, on its way to
/// rest.
std::unique_ptr<Stepper> make_adaptive_splitting(std::unique_ptr<Stepper> smooth,
                                                 const Proximal& term, const Regime& regime,
                                                 const Tolerance& tolerance, Workers& workers);

}  // namespace popflow
