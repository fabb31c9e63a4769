#pragma once

#include <cstdint>

#include "popflow/system.hpp"
#include "training/trained.hpp"

namespace popflow {

/// Doubles that the memory needs for each sample of a minibatch, at most: its weight, its normals,
/// and what Systems keep of it whatever their sizes (measured with the shortest contexts: 126 bytes
/// in scb, 189 in joma-joint); beyond that what the System itself says.
inline double numbers_of_sample(const System& system) {
  constexpr double kWhateverTheSizes = 24;
  const Capability<Sampled> sampled = source_of_gradients(system).capabilities().sampled;
  return kWhateverTheSizes + (sampled ? sampled->numbers_of_sample() : 0);
}

/// Largest allowed l of SVAG. A larger l means steps of eta/l so small that the run would not end.
inline constexpr std::int64_t kMostSvag = 1'000'000;

/// Number of samples that a step of SGD draws: with SVAG two batches, whose gradients are combined
/// with weights.
inline double samples_of_step(std::int64_t batch_size, std::int64_t svag) {
  return static_cast<double>(batch_size) * (svag > 1 ? 2 : 1);
}

}  // namespace popflow
