#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plan/mode_plan.hpp"
#include "popflow/driver.hpp"

namespace popflow {

/// The driver of run `run`, at its start.
std::unique_ptr<Driver> make_driver(const System& system, Workers& workers, const ModePlan& mode,
                                    std::uint32_t run, DriverHooks hooks);

/// How many runs of an ensemble are best moved together.
std::size_t runs_together(const ModePlan& mode);

/// The drivers of runs that move together: all must be advanced to a time before one is advanced to
/// the next. Each run's numbers are those that its driver alone would give.
std::vector<std::unique_ptr<Driver>> make_drivers(const System& system, Workers& workers,
                                                  const ModePlan& mode,
                                                  std::span<const std::uint32_t> runs,
                                                  std::vector<DriverHooks> hooks);

}  // namespace popflow
