#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "popflow/random.hpp"

namespace popflow {

/// Writes to `which` the samples that training draws from a finite set, beginning with draw number
/// key.first. Each pass over the set visits every sample once, in an order that depends only on the
/// seed, the run and the pass. A batch may span two passes.
/// With `dropped` > 0, each pass leaves out the last ones of its order: so many samples.
void visit_in_passes(const SampleKey& key, std::size_t samples, std::span<std::size_t> which,
                     std::size_t dropped = 0);

}  // namespace popflow
