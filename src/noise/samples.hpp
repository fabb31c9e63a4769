#pragma once

#include <cstdint>

namespace popflow {

/// Memory per sample of a minibatch, in numbers: the weight, the normals and the System's own data,
/// measured as 126 bytes (scb) to 189 bytes (joma-joint) with the shortest contexts.
inline constexpr double kNumbersOfSample = 24;

/// Largest allowed l of SVAG. A larger l means steps of eta/l so small that the run would not end.
inline constexpr std::int64_t kMostSvag = 1'000'000;

/// Number of samples that a step of SGD draws: with SVAG two batches, whose gradients are combined
/// with weights.
inline double samples_of_step(std::int64_t batch_size, std::int64_t svag) {
  return static_cast<double>(batch_size) * (svag > 1 ? 2 : 1);
}

}  // namespace popflow
