#pragma once

#include <cstddef>
#include <span>

#include "popflow/system.hpp"

namespace popflow {

/// Sums of the squared deviations of `count` sampled gradients, from sample `first` on, from their
/// mean: entry by entry, by Welford's recursion. Each gradient is drawn by itself and formed in
/// full. All three arrays have an entry for each of the state's, and `gradient` is scratch.
void sum_squares(const Capability<Sampled>& sampled, StateView x, double t, SampleKey first,
                 std::size_t count, std::span<double> gradient, std::span<double> mean,
                 std::span<double> squares);

}  // namespace popflow
