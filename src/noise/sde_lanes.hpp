#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "popflow/sde_driver.hpp"

namespace popflow {

/// Can runs of this System step in lanes, with this noise and method? They take Euler and
/// Maruyama's steps with the exact covariance.
bool has_noisy_lanes(const System& system, const SdeDriver::Options& options);

/// The drivers of up to kLanes runs that step side by side. What a run gives depends on its own
/// number alone, not on which others step with it.
///
/// All drivers must be advanced to a target before one is advanced to the next; the first to be
/// advanced moves them all. Runs that resume together must stand at the same time.
std::vector<std::unique_ptr<Driver>> noisy_lanes(const System& system,
                                                 const SdeDriver::Options& options,
                                                 std::span<const std::uint32_t> runs,
                                                 std::vector<DriverHooks> hooks);

}  // namespace popflow
