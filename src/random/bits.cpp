#include "random/bits.hpp"

#include <cstring>
#include <stdexcept>

namespace popflow {

#define POPFLOW_WIDTH 2
namespace baseline {
#include "random/bits_lanes.inc"
}  // namespace baseline
#undef POPFLOW_WIDTH

#if POPFLOW_HAS_AVX2
#pragma GCC push_options
#pragma GCC target("avx2")
#define POPFLOW_WIDTH 4
namespace avx2 {
#include "random/bits_lanes.inc"
}  // namespace avx2
#undef POPFLOW_WIDTH
#pragma GCC pop_options
#endif

PhiloxKey::PhiloxKey(std::uint64_t seed_of_all, Purpose purpose, std::uint32_t run,
                     std::uint64_t step)
    : counter{step & 0xffffffff, run, step >> 32 << 8 | static_cast<std::uint64_t>(purpose)},
      seed{static_cast<std::uint32_t>(seed_of_all), static_cast<std::uint32_t>(seed_of_all >> 32)} {
  if (step >> 56 != 0) throw std::out_of_range("the step of a random stream must be below 2^56");
  std::uint32_t low = seed[0], high = seed[1];
  for (auto& round : rounds) {
    round[0] = low;
    round[1] = high;
    low += PHILOX_W32_0;
    high += PHILOX_W32_1;
  }
}

void stream_words(const PhiloxKey& key, std::uint64_t first, std::size_t blocks, std::uint32_t* out,
                  Lanes lanes) {
  if (first + blocks > kBlocksOfStream)
    throw std::length_error("a random stream is exhausted after 2^33 words");
#if POPFLOW_HAS_AVX2
  std::size_t done = use_avx2(lanes) ? avx2::words(key, first, blocks, out)
                                     : baseline::words(key, first, blocks, out);
#else
  (void)lanes;
  std::size_t done = baseline::words(key, first, blocks, out);
#endif
  for (; done < blocks; ++done) {
    const auto number = static_cast<std::uint32_t>(first + done);
    const r123::Philox4x32::ctr_type block = r123::Philox4x32{}(
        {{number, static_cast<std::uint32_t>(key.counter[0]),
          static_cast<std::uint32_t>(key.counter[1]), static_cast<std::uint32_t>(key.counter[2])}},
        {{key.seed[0], key.seed[1]}});
    std::memcpy(out + 4 * done, block.data(), 4 * sizeof *out);
  }
}

}  // namespace popflow
