#include "random/stream_normals.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

#include "numerics/exponential.hpp"
#include "popflow/widest.hpp"

namespace popflow {
namespace {

/// Pairs of normals that are made together.
constexpr std::size_t kPairs = 32;

/// Box and Muller's pairs, of a block of two words of 64 bits each: r cos and r sin of 2 pi u.
POPFLOW_WIDEST void make_pairs(const std::uint64_t* __restrict__ words, double* __restrict__ out) {
  for (std::size_t i = 0; i < kPairs; ++i) {
    const double r = std::sqrt(-2 * logarithm(uniform_of(words[2 * i])));
    // The turn u is a number of quarters and at most an eighth on either side, exactly.
    constexpr double kRound = 0x1.8p52;
    const double u = uniform_of(words[2 * i + 1]);
    const double shifted = 4 * u + kRound;
    const double x = 2 * std::numbers::pi * (u - 0.25 * (shifted - kRound));
    const std::uint64_t quarter = std::bit_cast<std::uint64_t>(shifted);
    // Taylor's polynomials, whose remainders are below 5e-17.
    const double z = x * x;
    double s = -1.0 / 1307674368000;
    s = s * z + 1.0 / 6227020800;
    s = s * z - 1.0 / 39916800;
    s = s * z + 1.0 / 362880;
    s = s * z - 1.0 / 5040;
    s = s * z + 1.0 / 120;
    s = s * z - 1.0 / 6;
    const double sine = x + x * (z * s);
    double c = 1.0 / 20922789888000;
    c = c * z - 1.0 / 87178291200;
    c = c * z + 1.0 / 479001600;
    c = c * z - 1.0 / 3628800;
    c = c * z + 1.0 / 40320;
    c = c * z - 1.0 / 720;
    c = c * z + 1.0 / 24;
    const double cosine = 1 - (0.5 * z - z * z * c);
    // A quarter turn on, the cosine is minus the sine, and the sine the cosine.
    const bool odd = (quarter & 1) != 0;
    const std::uint64_t sign_of_sine = (quarter & 2) << 62;
    const std::uint64_t sign_of_cosine = ((quarter + 1) & 2) << 62;
    const double along = odd ? sine : cosine;
    const double across = odd ? cosine : sine;
    out[2 * i] = r * std::bit_cast<double>(std::bit_cast<std::uint64_t>(along) ^ sign_of_cosine);
    out[2 * i + 1] = r * std::bit_cast<double>(std::bit_cast<std::uint64_t>(across) ^ sign_of_sine);
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
