#include "random/stream_normals.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "numerics/exponential.hpp"
#include "popflow/math/turn.hpp"
#include "popflow/widest.hpp"

namespace popflow {
namespace {

/// Number of pairs of normals computed together.
constexpr std::size_t kPairs = 32;

/// Box and Muller's transform: a block of two 64-bit words gives the pair r cos and r sin of 2 pi
/// u.
POPFLOW_WIDEST void make_pairs(const std::uint64_t* __restrict__ words, double* __restrict__ out) {
  for (std::size_t i = 0; i < kPairs; ++i) {
    const double r = std::sqrt(-2 * logarithm(uniform_of(words[2 * i])));
    const math::CosineAndSine turned = math::of_turn(uniform_of(words[2 * i + 1]));
    out[2 * i] = r * turned.cosine;
    out[2 * i + 1] = r * turned.sine;
  }
}

}  // namespace

void write_stream_normals(const PhiloxKey& key, std::span<double> out) {
  std::uint32_t halves[4 * kPairs];
  std::uint64_t words[2 * kPairs];
  double normals[2 * kPairs];
  for (std::size_t begin = 0; begin < out.size(); begin += 2 * kPairs) {
    const std::size_t count = std::min(2 * kPairs, out.size() - begin);
    const std::size_t blocks = (count + 1) / 2;
    stream_words(key, begin / 2, blocks, halves);
    std::fill(halves + 4 * blocks, halves + 4 * kPairs, 0U);
    for (std::size_t i = 0; i < 2 * kPairs; ++i)
      words[i] = static_cast<std::uint64_t>(halves[2 * i + 1]) << 32 | halves[2 * i];
    make_pairs(words, normals);
    std::copy_n(normals, count, out.begin() + static_cast<std::ptrdiff_t>(begin));
  }
}

}  // namespace popflow
