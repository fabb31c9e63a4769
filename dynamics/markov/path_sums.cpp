#include "dynamics/markov/path_sums.hpp"

#include <bit>

namespace popflow::markov {

namespace {

/// Sums for length a + b, from g(a + j) = g(a) + lambda^a g(j). For positive lambda nothing
/// cancels.
PathSums joined(const PathSums& a, const PathSums& b) {
  return {a.power * b.power, a.g + a.power * b.g, a.sum + b.length * a.g + a.power * b.sum,
          a.squares + a.g * (b.length * a.g + 2 * a.power * b.sum) + a.power * a.power * b.squares,
          a.length + b.length};
}

}  // namespace

PathSums path_sums(double lambda, std::int64_t n) {
  const PathSums one{lambda, 1, 0, 0, 1};
  PathSums sums;
  for (int bit = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n))) - 1; bit >= 0;
       --bit) {
    sums = joined(sums, sums);
    if ((n >> bit & 1) != 0) sums = joined(sums, one);
  }
  return sums;
}

}  // namespace popflow::markov
