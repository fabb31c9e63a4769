#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "popflow/sde_driver.hpp"

namespace popflow {

/// Whether runs of this System can step in SIMD lanes with these options: the method must be
/// Euler-Maruyama and the covariance exact.
bool has_noisy_lanes(const System& system, const SdeDriver::Options& options);

/// Drivers of up to kLanes runs that step in SIMD lanes. The result of a run depends on its own
/// number alone, not on the other runs.
///
/// All drivers must reach a target before any of them is advanced to the next one; the first call
/// advances all of them. Runs that resume together must be at the same time.
std::vector<std::unique_ptr<Driver>> noisy_lanes(const System& system,
                                                 const SdeDriver::Options& options,
                                                 std::span<const std::uint32_t> runs,
                                                 std::vector<DriverHooks> hooks);

}  // namespace popflow
