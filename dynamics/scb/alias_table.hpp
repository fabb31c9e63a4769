#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace popflow::scb {

/// Draws from a fixed distribution over few outcomes in constant time: DiscreteDistribution for hot
/// loops, small enough for the first cache. One 32-bit number picks a place and what is left of it
/// decides between its two outcomes, so that probabilities are right to n 2^-32.
class AliasTable {
 public:
  static constexpr Eigen::Index kMost = 1 << 16;
  /// At most kMost probabilities; std::invalid_argument if there are more.
  explicit AliasTable(const Eigen::Ref<const Eigen::VectorXd>& probabilities);
  [[nodiscard]] std::uint16_t draw(std::uint32_t random) const {
    const std::uint64_t scaled = std::uint64_t{random} * thresholds_.size();
    const auto place = static_cast<std::uint32_t>(scaled >> 32);
    const bool own = static_cast<std::uint32_t>(scaled) < thresholds_[place];
    // Not by a branch: it would be foretold wrong as often as not.
    const std::uint32_t alias = aliases_[place];
    return static_cast<std::uint16_t>(alias ^ ((alias ^ place) & (0U - std::uint32_t{own})));
  }
  /// One outcome for each of `number` words.
  void draw(std::size_t number, const std::uint32_t* words, std::uint16_t* outcomes) const;

 private:
  // For each place: its own number below the threshold, its alias from the threshold on.
  std::vector<std::uint32_t> thresholds_, aliases_;
};

}  // namespace popflow::scb
