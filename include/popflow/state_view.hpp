#pragma once

#include <concepts>
#include <ranges>
#include <span>
#include <vector>

namespace popflow {

/// The numbers that select the smooth piece of a System's right-hand side: which side of a kink,
/// which stage of a training. They change only at a switch, so no method integrates them, no noise
/// moves them and no norm counts them. Empty for Systems that are smooth throughout.
using Regime = std::vector<double>;

/// A view of a state: its numbers, which the flow moves, and the regime it is in.
class StateView : public std::span<const double> {
 public:
  StateView() = default;
  /// From anything that holds doubles contiguously.
  template <std::ranges::contiguous_range Numbers>
  requires(!std::derived_from<std::remove_cvref_t<Numbers>, StateView> &&
           std::convertible_to<Numbers&&, std::span<const double>>)
      StateView(Numbers&& numbers,  // NOLINT: any holder of doubles is one; copies are left alone
                std::span<const double> in_regime = {})
      : std::span<const double>(std::forward<Numbers>(numbers)), regime(in_regime) {}

  std::span<const double> regime;
};

}  // namespace popflow
