#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace popflow::scb {

/// Draws from a fixed distribution over few outcomes in constant time: a DiscreteDistribution for
/// inner loops, small enough for the first-level cache. One 32-bit number selects a place, and its
/// remainder selects one of the two outcomes there, so that probabilities are accurate to n 2^-32.
class AliasTable {
 public:
  static constexpr Eigen::Index kMost = 1 << 16;
  /// Takes at most kMost probabilities; std::invalid_argument if there are more.
  explicit AliasTable(const Eigen::Ref<const Eigen::VectorXd>& probabilities);
  [[nodiscard]] std::uint16_t draw(std::uint32_t random) const {
    const std::uint64_t scaled = std::uint64_t{random} * thresholds_.size();
    const auto place = static_cast<std::uint32_t>(scaled >> 32);
    const bool own = static_cast<std::uint32_t>(scaled) < thresholds_[place];
    // Branch-free, because the branch would be unpredictable.
    const std::uint32_t alias = aliases_[place];
    return static_cast<std::uint16_t>(alias ^ ((alias ^ place) & (0U - std::uint32_t{own})));
  }
  /// Draws one outcome for each of `number` words.
  void draw(std::size_t number, const std::uint32_t* words, std::uint16_t* outcomes) const;

 private:
  // For each place: the outcome is the place's own number below the threshold, otherwise the alias.
  std::vector<std::uint32_t> thresholds_, aliases_;
};

}  // namespace popflow::scb
