#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "popflow/random.hpp"
#include "random/instruction_sets.hpp"

namespace popflow {

/// Key of a RandomStream, prepared for generating many words at once: Philox's round keys, and the
/// words of the counter after the first. The layout is that of RandomStream: the 32-bit words of
/// the stream are Philox's blocks 0, 1, ... in order, four words each. Its 64-bit words are pairs
/// of these, low half first.
struct PhiloxKey {
  /// Throws std::out_of_range like RandomStream.
  PhiloxKey(std::uint64_t seed, Purpose purpose, std::uint32_t run, std::uint64_t step);
  [[nodiscard]] std::uint64_t step() const;
  std::uint64_t rounds[10][2];  ///< 32 bits each
  std::uint64_t counter[3];     ///< 32 bits each
  std::uint32_t seed[2];
};

/// Number of blocks in a stream.
inline constexpr std::uint64_t kBlocksOfStream = std::uint64_t{1} << 32;
/// Number of steps in a stream's name.
inline constexpr std::uint64_t kSteps = std::uint64_t{1} << 56;

/// RandomStream::uniform() of a 64-bit word. Avoids the conversion from integer to double, which
/// few machines vectorise; every operation is exact.
inline double uniform_of(std::uint64_t word) {
  constexpr std::uint64_t kOne = std::bit_cast<std::uint64_t>(1.0);
  return (std::bit_cast<double>(word >> 12 | kOne) - 1) + 0x1p-53;
}

/// Writes the 32-bit words of the blocks first, ..., first + blocks - 1 of a stream: the words
/// 4 first, ..., 4 (first + blocks) - 1. Throws std::length_error beyond the stream's 2^32 blocks.
void stream_words(const PhiloxKey& key, std::uint64_t first, std::size_t blocks, std::uint32_t* out,
                  InstructionSet set = InstructionSet::best);

/// Writes the four words of the first block of each of `streams` streams, whose steps follow the
/// step of the key. Throws std::out_of_range if a step would be 2^56 or more.
void first_words(const PhiloxKey& key, std::size_t streams, std::uint32_t* out,
                 InstructionSet set = InstructionSet::best);

}  // namespace popflow
