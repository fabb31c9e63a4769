#pragma once

#include "steppers/stepper.hpp"

namespace popflow {

/// Forward-backward splitting for a System with a proximal term: a smooth step of length h (one
/// step of a fixed-step method, or an adaptive integration over h), then the proximal map. First
/// order in h, with exact zeros. The result is itself a method of fixed step size. `regime` is the
/// driver's; `longest` bounds the steps of an adaptive integration.
std::unique_ptr<Stepper> make_splitting(std::unique_ptr<Stepper> smooth, const Proximal& term,
                                        const Regime& regime, double longest);

/// Splitting with adaptive steps: the error estimate compares one step with two of half the length,
/// and the result is extrapolated from both to second order. Entries at rest stay exactly at rest;
/// an entry may overshoot zero, by no more than the tolerance of a step, before it comes to rest.
std::unique_ptr<Stepper> make_adaptive_splitting(std::unique_ptr<Stepper> smooth,
                                                 const Proximal& term, const Regime& regime,
                                                 const Tolerance& tolerance, Workers& workers);

}  // namespace popflow
