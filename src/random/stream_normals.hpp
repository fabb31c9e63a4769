#pragma once

#include <span>

#include "random/bits.hpp"

namespace popflow {

/// Writes the first out.size() normals of a stream. They equal those of RandomStream::normal() to
/// within 2e-15, with the same bits on every machine; the C library's logarithm and sine differ
/// between machines. Throws std::length_error beyond the 2^33 normals of a stream.
void write_stream_normals(const PhiloxKey& key, std::span<double> out);

}  // namespace popflow
