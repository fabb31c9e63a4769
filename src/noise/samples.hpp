#pragma once

#include <algorithm>
#include <cstdint>

#include "popflow/system.hpp"
#include "training/trained.hpp"

namespace popflow {

/// Upper bound on the memory for each sample of a minibatch, in doubles. A constant part covers the
/// sample's weight, its normals and the overhead in the System (measured with the shortest
/// contexts: 126 bytes in scb, 189 in joma-joint). The System itself states the part that depends
/// on its sizes.
inline double numbers_of_sample(const System& system) {
  constexpr double kConstantPart = 24;
  const Capability<Sampled> sampled = source_of_gradients(system).capabilities().sampled;
  return kConstantPart + (sampled ? sampled->numbers_of_sample() : 0);
}

/// Default of --noise-samples. An estimate of a covariance needs two samples.
inline std::int64_t samples_of_noise(std::int64_t batch_size) {
  return std::max<std::int64_t>(2, batch_size);
}

/// Largest allowed l of SVAG. Steps of eta/l with a larger l would be so small that the run would
/// not end.
inline constexpr std::int64_t kMostSvag = 1'000'000;

/// Number of samples that a step of SGD draws. A step of SVAG draws two batches and combines their
/// gradients with weights.
inline double samples_of_step(std::int64_t batch_size, std::int64_t svag) {
  return static_cast<double>(batch_size) * (svag > 1 ? 2 : 1);
}

}  // namespace popflow
