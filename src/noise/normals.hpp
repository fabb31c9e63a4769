#pragma once

#include <cstdint>
#include <span>

#include "popflow/random.hpp"
#include "popflow/workers.hpp"

namespace popflow {

/// Standard normals for one part of a Brownian path, on all threads: element j of part `number` is
/// a function of (seed, run, number, j) alone.
void fill_normals(Workers& workers, std::uint64_t seed, std::uint32_t run, std::uint64_t number,
                  std::span<double> out);

}  // namespace popflow
