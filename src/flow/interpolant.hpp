#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>

#include "numerics/newton_root.hpp"

namespace popflow {

/// Interpolating polynomial in Newton's form, for at most `most` nodes. The nodes must outlive it.
template <std::size_t most>
class Interpolant {
 public:
  Interpolant(std::span<const double> nodes, std::span<const double> values) : nodes_(nodes) {
    std::copy(values.begin(), values.end(), divided_.begin());
    for (std::size_t order = 1; order < nodes.size(); ++order)
      for (std::size_t i = nodes.size() - 1; i >= order; --i)
        divided_[i] = (divided_[i] - divided_[i - 1]) / (nodes[i] - nodes[i - order]);
  }
  [[nodiscard]] ValueAndSlope at(double place) const {
    ValueAndSlope sum = {divided_[nodes_.size() - 1], 0};
    for (std::size_t i = nodes_.size() - 1; i-- > 0;) {
      const double distance = place - nodes_[i];
      sum = {sum.value * distance + divided_[i], sum.slope * distance + sum.value};
    }
    return sum;
  }

  /// Error estimate for a root: its distance from the root of the polynomial of one degree less
  /// through all nodes but the first or the last, whichever gives the larger distance.
  [[nodiscard]] double root_error(double root) const {
    const std::size_t last = nodes_.size() - 1;
    const bool without_first = root - nodes_.front() > nodes_.back() - root;
    double term = divided_[last];
    for (std::size_t i = 0; i < last; ++i) term *= root - nodes_[i + (without_first ? 1 : 0)];
    return std::abs(term / at(root).slope);
  }

 private:
  std::span<const double> nodes_;
  std::array<double, most> divided_;  ///< divided differences, one per node
};

}  // namespace popflow
