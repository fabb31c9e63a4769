#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plan/mode_plan.hpp"
#include "popflow/driver.hpp"

namespace popflow {

/// Creates the driver of run `run`, at its start.
std::unique_ptr<Driver> make_driver(const System& system, Workers& workers, const ModePlan& mode,
                                    std::uint32_t run, DriverHooks hooks);

/// Number of runs of an ensemble that are best moved together.
std::size_t runs_together(const ModePlan& mode);

/// Creates drivers of runs that move together: all must reach a time before any of them is advanced
/// to the next one. The numbers of each run are the same as with its driver alone.
std::vector<std::unique_ptr<Driver>> make_drivers(const System& system, Workers& workers,
                                                  const ModePlan& mode,
                                                  std::span<const std::uint32_t> runs,
                                                  std::vector<DriverHooks> hooks);

}  // namespace popflow
