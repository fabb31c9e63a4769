#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "popflow/driver.hpp"
#include "popflow/flow_driver.hpp"
#include "popflow/parameter.hpp"
#include "popflow/sde_driver.hpp"
#include "popflow/setting.hpp"
#include "popflow/system.hpp"

namespace popflow {

/// Is the noise of sde drawn as samples are, rather than known?
bool noise_is_of_samples(const Parameters& options, const System& system);

/// Does the mode have runs that differ by their noise?
bool is_ensemble(const Parameters& options);

/// Does the run take noisy steps of the learning rate (--method gradient_descent)?
bool is_noisy_descent(const Parameters& options);

/// Flow time of a step where time is counted in whole steps (sgd, noisy gradient descent); else 0.
double step_length(const Parameters& options);

/// Fills in the mode's derived options that need no System: dt, noise-samples.
void settle_steps(Parameters& options);
/// What a System knows about the run. `start` is what --init-from names, if it is given.
Setting make_setting(const Parameters& options, const LastState* start);
/// Where a flow ends that no option gives an end. Throws UsageError where that is not finite.
double default_end(const System& system);
/// Fills in the end, t-end and steps, with the System's own where none is given. Throws UsageError
/// where they disagree.
void settle_end(Parameters& options, const System& system);
/// Fills in max-step for an adaptive method of a flow, where the System bounds its steps.
void settle_longest_step(Parameters& options, const System& system);
/// Says so if the end that was given is no whole number of steps; empty if it is, or none was
/// given.
std::string said_of_rounded_end(const Parameters& given, const Parameters& settled);

/// Fills in the kernel where it is left to the program: for flows of a sweep lanes, where the
/// System has them, Odeint's steppers for all others; with noise lanes, where there are any. Throws
/// UsageError where lanes are asked for and there are none.
void settle_kernel(Parameters& options, const System& system, bool of_sweep = false);
/// The same for a sweep's flow, from what is declared, without the System.
void settle_flow_kernel(Parameters& options, const SystemInfo& info, const Parameters& own);

/// What moves the state in this mode, at its start.
std::unique_ptr<Driver> make_driver(const System& system, Workers& workers,
                                    const Parameters& options, std::uint32_t run,
                                    DriverHooks hooks);

/// How many runs of an ensemble are best moved together.
std::size_t runs_together(const Parameters& options);
/// The drivers of runs that move together: all must be advanced to a time before one is advanced to
/// the next. Each run's numbers are those that its driver alone would give.
std::vector<std::unique_ptr<Driver>> make_drivers(const System& system, Workers& workers,
                                                  const Parameters& options,
                                                  std::span<const std::uint32_t> runs,
                                                  std::vector<DriverHooks> hooks);

/// A run of mode sde with its steps taken two at a time, along the same path.
std::unique_ptr<Driver> make_coarse_driver(const System& system, Workers& workers,
                                           const Parameters& options, std::uint32_t run,
                                           DriverHooks hooks);
/// What a flow is integrated with.
FlowDriver::Options flow_options(const Parameters& options, DriverHooks hooks);
/// What an sde run's noise is made from.
SdeDriver::Options sde_options(const Parameters& options, std::uint32_t run, DriverHooks hooks);

}  // namespace popflow
