#pragma once

#include <cstdint>
#include <span>

#include "popflow/lanes.hpp"
#include "popflow/workers.hpp"
#include "random/bits.hpp"

namespace popflow {

/// The standard normals of one part of a Brownian path. Element j is a function of (seed, run,
/// number, j) alone, bit-for-bit identical on every machine and any number of threads.
///
/// Layout: part `number` is the RandomStream of its purpose, `noise` as a rule, and step `number`.
/// The normals 64 g, ..., 64 g + 63 come from its blocks 16 g, ..., 16 g + 15, in 8 lanes. For lane
/// l < 8 and p < 4, of the 64-bit word p mod 2 of block 16 g + 8 (p div 2) + l let k be the upper
/// 40 bits, b the next one and c the lower 23. Then with
///
///   r = sqrt(-2 log((k + 1/2) / 2^40)),  theta = pi ((c + 1/2) / 2^23 - 1/2)
///
/// normal 64 g + 16 p + l is r cos theta, with the sign changed where b = 1, and normal
/// 64 g + 16 p + 8 + l is r sin theta (Box and Muller 1958), to within 1e-11. So |x| < 7.54, beyond
/// which a normal variate lies once in 2e13; the pair's direction is one of 2^24.
class NormalPart {
 public:
  /// Throws std::out_of_range for a number of 2^56 or more.
  NormalPart(std::uint64_t seed, std::uint32_t run, std::uint64_t number,
             Purpose purpose = Purpose::noise)
      : key_(seed, purpose, run, number) {}
  /// Writes the elements first, ..., first + out.size() - 1. Throws std::length_error beyond the
  /// 1.7e10 that a part holds.
  void write(std::size_t first, std::span<double> out,
             InstructionSet set = InstructionSet::best) const;

 private:
  PhiloxKey key_;
};

/// Writes the first `variables` normals, at most 8, of part `number` of kLanes runs of 32 bits
/// each: element j of run l goes to out[j kLanes + l].
void write_lane_normals(std::uint64_t seed, Purpose purpose,
                        std::span<const std::uint64_t, kLanes> runs, std::uint64_t number,
                        std::size_t variables, double* out,
                        InstructionSet set = InstructionSet::best);

/// Writes the first out.size() normals of a part, on all threads.
void fill_normals(Workers& workers, std::uint64_t seed, std::uint32_t run, std::uint64_t number,
                  std::span<double> out);

}  // namespace popflow
