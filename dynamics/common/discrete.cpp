#include "dynamics/common/discrete.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <numeric>

#include "random/instruction_sets.hpp"

namespace popflow {

std::vector<AliasColumn> alias_columns(std::span<const double> weights) {
  // Vose's method: column i starts with n p_i; columns below 1 are filled up from those above 1.
  std::vector<double> share(weights.begin(), weights.end());
  const double total = std::accumulate(share.begin(), share.end(), 0.0);
  const auto n = static_cast<double>(share.size());
  std::vector<AliasColumn> columns(share.size());
  std::vector<std::uint32_t> small;
  std::vector<std::uint32_t> large;
  for (std::uint32_t i = 0; i < share.size(); ++i) {
    share[i] *= n / total;
    columns[i].alias = i;
    (share[i] < 1 ? small : large).push_back(i);
  }
  while (!small.empty() && !large.empty()) {
    const std::uint32_t low = small.back();
    const std::uint32_t high = large.back();
    small.pop_back();
    columns[low] = {share[low], high};
    share[high] -= 1 - share[low];
    if (share[high] >= 1) continue;
    large.pop_back();
    small.push_back(high);
  }
  // Rounding can leave columns without a partner. A column keeps its index, but one of weight 0
  // passes all draws to the likeliest index.
  const auto likeliest = static_cast<std::uint32_t>(
      std::max_element(weights.begin(), weights.end()) - weights.begin());
  for (const std::uint32_t i : small)
    if (weights[i] == 0) columns[i] = {0, likeliest};
  return columns;
}

DiscreteDistribution::DiscreteDistribution(std::span<const double> weights) {
  for (const AliasColumn& column : alias_columns(weights)) {
    const bool full = column.share >= 1;
    columns_.push_back({full ? std::numeric_limits<std::uint64_t>::max()
                             : static_cast<std::uint64_t>(column.share * 0x1p64),
                        column.alias});
  }
}

#if POPFLOW_HAS_AVX
namespace {

typedef std::uint64_t Words __attribute__((vector_size(64)));
typedef std::uint64_t ColumnWords __attribute__((vector_size(16)));
typedef std::uint64_t ColumnPair __attribute__((vector_size(32)));
typedef std::uint32_t Indices __attribute__((vector_size(32)));

/// Draws eight indices at a time; returns the number drawn. A column of the table consists of two
/// 64-bit numbers: its threshold and, in the low half, its alias. Loading both together and sorting
/// them in registers takes half the time of two gathers. (Masks that select everything avoid a
/// warning of gcc 12 about its own header.)
__attribute__((target("avx512f"))) std::size_t draw_eights(std::size_t size, const void* columns,
                                                           std::size_t number,
                                                           const std::uint32_t* words,
                                                           std::uint32_t* indices) {
  constexpr std::uint64_t kLow = 0xffffffff;
  const auto factor = reinterpret_cast<__m512i>(Words{} + size);
  std::size_t done = 0;
  for (; done + 8 <= number; done += 8) {
    Words word;
    std::memcpy(&word, words + 2 * done, sizeof word);
    // Product with the size, which is below 2^32, in halves.
    const auto low = reinterpret_cast<Words>(
        _mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(word), factor));
    const auto high = reinterpret_cast<Words>(
        _mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(word >> 32), factor));
    const Words upper = high + (low >> 32);
    const Words place = upper >> 32;
    const Words rest = upper << 32 | (low & kLow);
    ColumnWords of[8];
    for (std::size_t i = 0; i < 8; ++i)
      std::memcpy(&of[i], static_cast<const ColumnWords*>(columns) + place[i], sizeof of[i]);
    ColumnPair two[4];
    for (std::size_t i = 0; i < 4; ++i)
      two[i] = __builtin_shufflevector(of[2 * i], of[2 * i + 1], 0, 1, 2, 3);
    const Words first = __builtin_shufflevector(two[0], two[1], 0, 1, 2, 3, 4, 5, 6, 7);
    const Words second = __builtin_shufflevector(two[2], two[3], 0, 1, 2, 3, 4, 5, 6, 7);
    const Words threshold = __builtin_shufflevector(first, second, 0, 2, 4, 6, 8, 10, 12, 14);
    const Words alias = __builtin_shufflevector(first, second, 1, 3, 5, 7, 9, 11, 13, 15);
    const Words index = rest < threshold ? place : alias & kLow;
    const Indices narrow = __builtin_convertvector(index, Indices);
    std::memcpy(indices + done, &narrow, sizeof narrow);
  }
  return done;
}

}  // namespace
#endif

void DiscreteDistribution::draw(std::size_t number, const std::uint32_t* words,
                                std::uint32_t* indices) const {
  std::size_t done = 0;
#if POPFLOW_HAS_AVX
  static_assert(sizeof(Column) == sizeof(ColumnWords) && offsetof(Column, alias) == 8);
  if (use_avx512(InstructionSet::best) && columns_.size() < std::uint64_t{1} << 32)
    done = draw_eights(columns_.size(), columns_.data(), number, words, indices);
#endif
  for (; done < number; ++done)
    indices[done] = (*this)(std::uint64_t{words[2 * done + 1]} << 32 | words[2 * done]);
}

}  // namespace popflow
