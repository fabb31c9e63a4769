#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "popflow/system.hpp"

namespace popflow {

/// Sums, entry by entry, the squared deviations of `count` sampled gradients from their mean, by
/// Welford's recursion. `first` is the key of the first sample. Each gradient is drawn separately
/// and formed in full. The three arrays have the size of the state; `gradient` is scratch memory.
void sum_squares(const Capability<Sampled>& sampled, StateView x, double t, SampleKey first,
                 std::size_t count, std::span<double> gradient, std::span<double> mean,
                 std::span<double> squares);

/// Explains why the System has no sampled model, with the System's own reason if it gives one.
std::string why_no_samples(const System& system);

}  // namespace popflow
