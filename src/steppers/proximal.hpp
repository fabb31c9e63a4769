#pragma once

#include "steppers/stepper.hpp"

namespace popflow {

/// Forward-backward splitting for a System with a proximal term: a smooth step of length h, then
/// the proximal map. The smooth step is one step of a fixed-step method, or an adaptive integration
/// over h. The splitting is of first order in h, with exact zeros, and is itself a method of fixed
/// step size. `regime` is the driver's; `longest` bounds the steps of an adaptive integration.
std::unique_ptr<Stepper> make_splitting(std::unique_ptr<Stepper> smooth, const Proximal& term,
                                        const Regime& regime, double longest);

/// Splitting with adaptive steps. The error estimate compares one step with two of half the length,
/// and the result is extrapolated from both to second order. Entries that are exactly zero at rest
/// stay there. Before an entry comes to rest it may overshoot zero, by no more than the tolerance
/// of a step.
std::unique_ptr<Stepper> make_adaptive_splitting(std::unique_ptr<Stepper> smooth,
                                                 const Proximal& term, const Regime& regime,
                                                 const Tolerance& tolerance, Workers& workers);

}  // namespace popflow
