#pragma once

#include <cstdint>
#include <span>

namespace popflow {

/// Energy distance 2 E|X-Y| - E|X-X'| - E|Y-Y'| of two samples (Szekely and Rizzo 2013), with the
/// p-value of a permutation test. On a line it is 2 int (F - G)^2.
struct EnergyDistance {
  double distance = 0;
  double p_value = 1;
};
EnergyDistance energy_distance(std::span<const double> first, std::span<const double> second,
                               std::uint64_t seed);

}  // namespace popflow
