#include "dynamics/scb/alias_table.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "dynamics/common/discrete.hpp"
#include "random/instruction_sets.hpp"

namespace popflow::scb {

AliasTable::AliasTable(const Eigen::Ref<const Eigen::VectorXd>& probabilities) {
  if (probabilities.size() > kMost)
    throw std::invalid_argument("an alias table of " + std::to_string(probabilities.size()) +
                                " outcomes is too large");
  for (const AliasColumn& column :
       alias_columns({probabilities.data(), static_cast<std::size_t>(probabilities.size())})) {
    thresholds_.push_back(static_cast<std::uint32_t>(std::min(column.share * 0x1p32, 0x1p32 - 1)));
    aliases_.push_back(column.alias);
  }
}

#if POPFLOW_HAS_AVX
namespace {

/// Number of places that fit in two registers.
constexpr std::size_t kFewPlaces = 32;

typedef std::uint32_t Sixteen __attribute__((vector_size(64)));
typedef std::uint64_t Eight __attribute__((vector_size(64)));

/// Lookup in a table of at most kFewPlaces numbers.
struct Few {
  __m512i low, high;
  __attribute__((target("avx512f"))) explicit Few(const std::vector<std::uint32_t>& numbers) {
    std::uint32_t all[kFewPlaces] = {};
    std::copy(numbers.begin(), numbers.end(), all);
    std::memcpy(&low, all, sizeof low);
    std::memcpy(&high, all + kFewPlaces / 2, sizeof high);
  }
  [[nodiscard]] __attribute__((target("avx512f"))) Sixteen at(Sixteen places) const {
    return reinterpret_cast<Sixteen>(
        _mm512_permutex2var_epi32(low, reinterpret_cast<__m512i>(places), high));
  }
};

/// Lookup in longer tables.
struct Many {
  const std::uint32_t* numbers;
  explicit Many(const std::vector<std::uint32_t>& of) : numbers(of.data()) {}
  [[nodiscard]] __attribute__((target("avx512f"))) Sixteen at(Sixteen places) const {
    // The mask selects everything; it avoids a warning of gcc 12 about its own header.
    return reinterpret_cast<Sixteen>(
        _mm512_mask_i32gather_epi32(reinterpret_cast<__m512i>(Sixteen{}), 0xffff,
                                    reinterpret_cast<__m512i>(places), numbers, 4));
  }
};

/// Draws sixteen outcomes at a time; returns the number drawn.
template <class Numbers>
__attribute__((target("avx512f"))) std::size_t draw_sixteens(
    const std::vector<std::uint32_t>& thresholds, const std::vector<std::uint32_t>& aliases,
    std::size_t number, const std::uint32_t* words, std::uint16_t* outcomes) {
  constexpr std::uint64_t kLow = 0xffffffff;
  const Numbers threshold(thresholds);
  const Numbers alias(aliases);
  const auto size = reinterpret_cast<__m512i>(Eight{} + thresholds.size());
  std::size_t done = 0;
  for (; done + 16 <= number; done += 16) {
    Eight word;
    std::memcpy(&word, words + done, sizeof word);
    // Every second word: the place is in the upper half of the product, the rest in the lower half.
    const auto even = reinterpret_cast<Eight>(
        _mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(word), size));
    const auto odd = reinterpret_cast<Eight>(
        _mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(word >> 32), size));
    const auto place = reinterpret_cast<Sixteen>((even >> 32) | (odd & ~kLow));
    const auto rest = reinterpret_cast<Sixteen>((even & kLow) | (odd << 32));
    const Sixteen outcome = rest < threshold.at(place) ? place : alias.at(place);
    const __m256i narrow = _mm512_maskz_cvtepi32_epi16(0xffff, reinterpret_cast<__m512i>(outcome));
    std::memcpy(outcomes + done, &narrow, sizeof narrow);
  }
  return done;
}

}  // namespace
#endif

void AliasTable::draw(std::size_t number, const std::uint32_t* words,
                      std::uint16_t* outcomes) const {
  std::size_t done = 0;
#if POPFLOW_HAS_AVX
  if (use_avx512(InstructionSet::best))
    done = thresholds_.size() <= kFewPlaces
               ? draw_sixteens<Few>(thresholds_, aliases_, number, words, outcomes)
               : draw_sixteens<Many>(thresholds_, aliases_, number, words, outcomes);
#endif
  for (; done < number; ++done) outcomes[done] = draw(words[done]);
}

}  // namespace popflow::scb
