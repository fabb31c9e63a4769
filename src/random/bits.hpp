#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "popflow/random.hpp"
#include "random/instruction_sets.hpp"

namespace popflow {

/// The name of a RandomStream, made ready to give many of its words at once: Philox's round keys
/// and the counter's words after the first. The layout is RandomStream's: the stream's 32-bit words
/// are Philox's blocks 0, 1, ... one after the other, four words each; its 64-bit words are pairs
/// of them, low half first.
struct PhiloxKey {
  /// Throws std::out_of_range as RandomStream does.
  PhiloxKey(std::uint64_t seed, Purpose purpose, std::uint32_t run, std::uint64_t step);
  [[nodiscard]] std::uint64_t step() const;
  std::uint64_t rounds[10][2];  ///< 32 bits each
  std::uint64_t counter[3];     ///< 32 bits each
  std::uint32_t seed[2];
};

/// Blocks in a stream.
inline constexpr std::uint64_t kBlocksOfStream = std::uint64_t{1} << 32;
/// Steps that a stream's name can have.
inline constexpr std::uint64_t kSteps = std::uint64_t{1} << 56;

/// RandomStream::uniform() of a word of 64 bits, without a conversion of whole numbers, which few
/// machines do in vectors: no step of it rounds.
inline double uniform_of(std::uint64_t word) {
  constexpr std::uint64_t kOne = std::bit_cast<std::uint64_t>(1.0);
  return (std::bit_cast<double>(word >> 12 | kOne) - 1) + 0x1p-53;
}

/// Writes the 32-bit words of the blocks first, ..., first + blocks - 1 of a stream: the words
/// 4 first, ..., 4 (first + blocks) - 1. Throws std::length_error beyond the stream's 2^32 blocks.
void stream_words(const PhiloxKey& key, std::uint64_t first, std::size_t blocks, std::uint32_t* out,
                  InstructionSet set = InstructionSet::best);

/// Writes the four words of the first block of each of `streams` streams, whose steps are the key's
/// and those that follow. Throws std::out_of_range where a step would be 2^56 or more.
void first_words(const PhiloxKey& key, std::size_t streams, std::uint32_t* out,
                 InstructionSet set = InstructionSet::best);

}  // namespace popflow
