#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "popflow/random.hpp"

namespace popflow {

/// Writes to `which` the samples that training draws from a finite set, beginning with draw number
/// key.first. Each pass over the set visits every sample once, in an order that depends only on the
/// seed, the run and the pass. A batch may span two passes.
void visit_in_passes(const SampleKey& key, std::size_t samples, std::span<std::size_t> which);

}  // namespace popflow
