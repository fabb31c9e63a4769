#pragma once

#include <concepts>
#include <ranges>
#include <span>
#include <vector>

namespace popflow {

/// Numbers that select the smooth piece of a System's right-hand side, such as the side of a kink
/// or the stage of a training. They change only at a switch: methods do not integrate them, noise
/// does not move them and norms ignore them. Empty for Systems that are smooth throughout.
using Regime = std::vector<double>;

/// View of a state: its numbers, which the flow moves, and its regime.
class StateView : public std::span<const double> {
 public:
  StateView() = default;
  /// Converts from any contiguous range of doubles.
  template <std::ranges::contiguous_range Numbers>
  requires(!std::derived_from<std::remove_cvref_t<Numbers>, StateView> &&
           std::convertible_to<Numbers&&, std::span<const double>>)
      StateView(Numbers&& numbers,  // NOLINT: implicit by design; copies use the copy constructor
                std::span<const double> in_regime = {})
      : std::span<const double>(std::forward<Numbers>(numbers)), regime(in_regime) {}

  std::span<const double> regime;
};

}  // namespace popflow
