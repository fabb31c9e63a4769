#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "popflow/random.hpp"

namespace popflow {

/// Writes the samples of a finite set that training visits as its draws number key.first, key.first
/// + 1 and so on: every sample once in each pass over the set, in an order that depends only on the
/// seed, the run and the pass. A batch may span two passes.
void visit_in_passes(const SampleKey& key, std::size_t samples, std::span<std::size_t> which);

}  // namespace popflow
