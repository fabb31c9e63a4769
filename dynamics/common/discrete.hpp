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
/// Columns for a list of weights, which are not negative and have a positive sum; at most 2^32 of
/// them. Indices of weight 0 have no share of any.
std::vector<AliasColumn> alias_columns(std::span<const double> weights);

/// Draws an index from fixed weights in constant time: one random word picks a column and the rest
/// of the word decides between its two indices. Probabilities are exact to the rounding of a
/// double.
class DiscreteDistribution {
 public:
  /// Weights are not negative and have a positive sum; at most 2^32 of them.
  explicit DiscreteDistribution(std::span<const double> weights);

  [[nodiscard]] std::size_t size() const { return columns_.size(); }
  /// The index given by a word of 64 random bits. Indices of weight 0 never occur.
  std::uint32_t operator()(std::uint64_t word) const {
    __extension__ using Wide = unsigned __int128;
    const Wide scaled = Wide{word} * columns_.size();
    const auto place = static_cast<std::uint32_t>(scaled >> 64);
    const Column& column = columns_[place];
    // Not by a branch, which would be taken at random.
    const bool own = static_cast<std::uint64_t>(scaled) < column.threshold;
    return column.alias ^ ((column.alias ^ place) & (0U - static_cast<std::uint32_t>(own)));
  }
  /// The indices given by so many words, each two of 32 bits, the low half first
  /// (random/bits.hpp).
  void draw(std::size_t number, const std::uint32_t* words, std::uint32_t* indices) const;

 private:
  struct Column {
    std::uint64_t threshold = 0;  ///< below it the column's own index, else the alias
    std::uint32_t alias = 0;
  };
  std::vector<Column> columns_;
};

}  // namespace popflow
