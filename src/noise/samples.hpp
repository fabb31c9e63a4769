#pragma once

#include <cstdint>

namespace popflow {

/// Numbers that the memory has of each sample of a minibatch: its weight, its normals, and what
/// Systems keep of it, which was measured to be 126 bytes (scb) to 189 (joma-joint) with the
/// shortest contexts.
inline constexpr double kNumbersOfSample = 24;

/// Largest l of SVAG that is offered: steps of eta/l, so that more would not end.
inline constexpr std::int64_t kMostSvag = 1'000'000;

/// Samples that a step of SGD draws: with svag two batches, which it weighs against each other.
inline double samples_of_step(std::int64_t batch_size, std::int64_t svag) {
  return static_cast<double>(batch_size) * (svag > 1 ? 2 : 1);
}

}  // namespace popflow
