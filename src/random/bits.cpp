#include "random/bits.hpp"

#include <cstring>
#include <stdexcept>

namespace popflow {

#define POPFLOW_WIDTH 2
namespace baseline {
#include "random/bits_lanes.inc"
}  // namespace baseline
#undef POPFLOW_WIDTH

#if POPFLOW_HAS_AVX
POPFLOW_BEGIN_AVX2
#define POPFLOW_WIDTH 4
namespace avx2 {
#include "random/bits_lanes.inc"
}  // namespace avx2
#undef POPFLOW_WIDTH
POPFLOW_END_VERSION
POPFLOW_BEGIN_AVX512
#define POPFLOW_WIDTH 8
namespace avx512 {
#include "random/bits_lanes.inc"
}  // namespace avx512
#undef POPFLOW_WIDTH
POPFLOW_END_VERSION
#endif

PhiloxKey::PhiloxKey(std::uint64_t seed_of_all, Purpose purpose, std::uint32_t run,
                     std::uint64_t step)
    : counter{step & 0xffffffff, run, step >> 32 << 8 | static_cast<std::uint64_t>(purpose)},
      seed{static_cast<std::uint32_t>(seed_of_all), static_cast<std::uint32_t>(seed_of_all >> 32)} {
  if (step >= kSteps)
    throw std::out_of_range("the step of a random stream is too large; it must be below 2^56");
  std::uint32_t low = seed[0], high = seed[1];
  for (auto& round : rounds) {
    round[0] = low;
    round[1] = high;
    low += PHILOX_W32_0;
    high += PHILOX_W32_1;
  }
}

namespace {

/// One block, in the order of RandomStream's words.
void one_block(const PhiloxKey& key, std::uint64_t number, std::uint64_t step, std::uint32_t* out) {
  const auto high = static_cast<std::uint32_t>(step >> 32 << 8 | (key.counter[2] & 0xff));
  const r123::Philox4x32::ctr_type block =
      r123::Philox4x32{}({{static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(step),
                           static_cast<std::uint32_t>(key.counter[1]), high}},
                         {{key.seed[0], key.seed[1]}});
  std::memcpy(out, block.data(), 4 * sizeof *out);
}

template <bool streams>
void words(const PhiloxKey& key, std::uint64_t first, std::size_t blocks, std::uint32_t* out,
           [[maybe_unused]] InstructionSet set) {
#if POPFLOW_HAS_AVX
  if (use_avx512(set)) return avx512::words<streams>(key, first, blocks, out);
  if (use_avx2(set)) return avx2::words<streams>(key, first, blocks, out);
#endif
  return baseline::words<streams>(key, first, blocks, out);
}

}  // namespace

std::uint64_t PhiloxKey::step() const { return counter[2] >> 8 << 32 | counter[0]; }

void stream_words(const PhiloxKey& key, std::uint64_t first, std::size_t blocks, std::uint32_t* out,
                  InstructionSet set) {
  if (first + blocks > kBlocksOfStream)
    throw std::length_error("a random stream holds 2^33 words; more were requested");
  words<false>(key, first, blocks, out, set);
}

void first_words(const PhiloxKey& key, std::size_t streams, std::uint32_t* out,
                 InstructionSet set) {
  if (key.step() + streams > kSteps)
    throw std::out_of_range("the step of a random stream is too large; it must be below 2^56");
  // Vectors do not carry into the high half of the step.
  if (key.counter[0] + streams <= std::uint64_t{1} << 32)
    return words<true>(key, 0, streams, out, set);
  for (std::size_t stream = 0; stream < streams; ++stream)
    one_block(key, 0, key.step() + stream, out + 4 * stream);
}

}  // namespace popflow
