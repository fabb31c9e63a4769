#pragma once

#include <cstdint>
#include <span>

#include "popflow/lanes.hpp"
#include "popflow/workers.hpp"
#include "random/bits.hpp"

namespace popflow {

/// Standard normals of one part of a Brownian path. Element j is a function of (seed, run, number,
/// j) alone, bit-for-bit identical on every machine and for any number of threads.
///
/// Layout: part `number` is the RandomStream of its purpose (normally `noise`) and of step
/// `number`. The normals 64 g, ..., 64 g + 63 come from blocks 16 g, ..., 16 g + 15 of the stream,
/// in 8 lanes. For lane l < 8 and p < 4, take the 64-bit word p mod 2 of block 16 g + 8 (p div 2) +
/// l. Let k be its upper 40 bits, b the next bit and c the lower 23 bits. Then with
///
///   r = sqrt(-2 log((k + 1/2) / 2^40)),  theta = pi ((c + 1/2) / 2^23 - 1/2)
///
/// normal 64 g + 16 p + l is r cos theta, with the sign changed where b = 1, and normal 64 g + 16 p
/// + 8 + l is r sin theta (Box and Muller 1958), to within 1e-11. Therefore |x| < 7.54; a normal
/// variate exceeds this once in 2e13. The direction of a pair is one of 2^24.
class NormalPart {
 public:
  /// Throws std::out_of_range for a number of 2^56 or more.
  NormalPart(std::uint64_t seed, std::uint32_t run, std::uint64_t number,
             Purpose purpose = Purpose::noise)
      : key_(seed, purpose, run, number) {}
  /// Writes the elements first, ..., first + out.size() - 1. A part holds 1.7e10 elements; throws
  /// std::length_error beyond them.
  void write(std::size_t first, std::span<double> out,
             InstructionSet set = InstructionSet::best) const;

 private:
  PhiloxKey key_;
};

/// Writes the first `variables` (at most 8) normals of part `number` of kLanes runs. Run numbers
/// have 32 bits. Element j of run l goes to out[j kLanes + l].
void write_lane_normals(std::uint64_t seed, Purpose purpose,
                        std::span<const std::uint64_t, kLanes> runs, std::uint64_t number,
                        std::size_t variables, double* out,
                        InstructionSet set = InstructionSet::best);

/// Writes the first out.size() normals of a part, on all threads.
void fill_normals(Workers& workers, std::uint64_t seed, std::uint32_t run, std::uint64_t number,
                  std::span<double> out);

}  // namespace popflow
