#pragma once

#include <cstddef>

#include "popflow/lane_formula.hpp"
#include "popflow/system.hpp"

namespace popflow {

/// A small System that computes its observables for kLanes states at once. A sweep with `--record
/// series` then evaluates the records of a flow sixteen at a time.
class ObservesInLanes {
 public:
  virtual ~ObservesInLanes() = default;
  /// Whether this instance can do so; if not, states are observed one by one.
  [[nodiscard]] virtual bool observes_in_lanes() const { return true; }
  /// Writes System::observe() of kLanes states without regimes, with the same bits. `x` has a row
  /// of kLanes numbers for each entry of the state, `t` is one row, and `values` gets a row for
  /// each observable. Number l of every row belongs to state l. All rows are aligned to 64 bytes.
  virtual void observe_lanes(const double* x, const double* t, double* values) const = 0;
};

/// Returns the System as an ObservesInLanes; null if its states are observed one by one.
inline const ObservesInLanes* observes_in_lanes(const System& system) {
  const auto* const found = dynamic_cast<const ObservesInLanes*>(&system);
  return found != nullptr && found->observes_in_lanes() ? found : nullptr;
}

}  // namespace popflow
