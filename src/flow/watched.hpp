#pragma once

#include <span>
#include <string>

#include "popflow/system.hpp"

namespace popflow {

/// Quantities of a System that the options of `run` observe in addition to its own observables
/// (observed/observed.hpp).
class Watched {
 public:
  virtual ~Watched() = default;
  /// Whether a condition ends the run. A flow ends at the time at which the condition begins to
  /// hold. A noisy run ends after the first step at whose end it holds; for large states, at the
  /// next check.
  [[nodiscard]] virtual bool stops() const = 0;
  /// Negative if and only if the condition holds; continuous where its observable is.
  [[nodiscard]] virtual double stop_function(StateView x, double t) const = 0;
  /// The condition in words ("excess_loss < 1e-4").
  [[nodiscard]] virtual std::string condition() const = 0;
  /// Numbers of the training rule that are recorded with the observables.
  [[nodiscard]] virtual std::span<const ObservableInfo> of_rule() const = 0;
  /// Writes the numbers of the training rule in this order, as far as `values` has room.
  virtual void rule_numbers(double t, std::span<double> values) const = 0;
};

/// Returns the System as a Watched; null if only its own observables are observed.
inline const Watched* watched(const System& system) {
  return dynamic_cast<const Watched*>(&system);
}

/// Returns the System as a Watched if a condition ends the run; otherwise null.
inline const Watched* stopping(const System& system) {
  const Watched* const found = watched(system);
  return found != nullptr && found->stops() ? found : nullptr;
}

/// Numbers of the training rule that are recorded with the System's observables.
inline std::span<const ObservableInfo> numbers_of_rule(const System& system) {
  const Watched* const found = watched(system);
  return found != nullptr ? found->of_rule() : std::span<const ObservableInfo>();
}

}  // namespace popflow
