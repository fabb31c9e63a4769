#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace popflow {

/// A column of an alias table (Walker 1977, in the form of Vose 1991): n columns are equally
/// likely; a fraction `share` of each belongs to its own index, the rest to its alias.
struct AliasColumn {
  double share = 1;
  std::uint32_t alias = 0;
};
/// Makes the alias table for at most 2^32 weights, which are not negative and have a positive sum.
/// Indices of weight 0 get no share.
std::vector<AliasColumn> alias_columns(std::span<const double> weights);

/// Draws an index from fixed weights in constant time: one random word picks a column and the rest
/// of the word decides between its two indices. Probabilities are exact to the rounding of a
/// double.
class DiscreteDistribution {
 public:
  /// Takes at most 2^32 weights, which are not negative and have a positive sum.
  explicit DiscreteDistribution(std::span<const double> weights);

  [[nodiscard]] std::size_t size() const { return columns_.size(); }
  /// Index for a word of 64 random bits. Indices of weight 0 never occur.
  std::uint32_t operator()(std::uint64_t word) const {
    __extension__ using Wide = unsigned __int128;
    const Wide scaled = Wide{word} * columns_.size();
    const auto place = static_cast<std::uint32_t>(scaled >> 64);
    const Column& column = columns_[place];
    // Branch-free, because the branch would be unpredictable.
    const bool own = static_cast<std::uint64_t>(scaled) < column.threshold;
    return column.alias ^ ((column.alias ^ place) & (0U - static_cast<std::uint32_t>(own)));
  }
  /// Draws an index for each pair of 32-bit words, low half first (random/bits.hpp).
  void draw(std::size_t number, const std::uint32_t* words, std::uint32_t* indices) const;

 private:
  struct Column {
    std::uint64_t threshold = 0;  ///< below it: the column's own index, otherwise the alias
    std::uint32_t alias = 0;
  };
  std::vector<Column> columns_;
};

}  // namespace popflow
