#pragma once

#include <span>
#include <string>

#include "popflow/system.hpp"

namespace popflow {

/// A System with things that options of `run` watch besides its own observables
/// (observed/observed.hpp).
class Watched {
 public:
  virtual ~Watched() = default;
  /// Whether a condition ends the run. A flow ends where the condition begins to hold; a noisy run
  /// after the first step at whose end it holds, or for large states at the next check.
  [[nodiscard]] virtual bool stops() const = 0;
  /// Negative if and only if the condition holds; continuous where its observable is.
  [[nodiscard]] virtual double stop_function(StateView x, double t) const = 0;
  /// The condition in words ("excess_loss < 1e-4").
  [[nodiscard]] virtual std::string condition() const = 0;
  /// Numbers of the training rule that are recorded beside the observables.
  [[nodiscard]] virtual std::span<const ObservableInfo> of_rule() const = 0;
  /// Writes the first of these, in their order, as far as there is room.
  virtual void rule_numbers(double t, std::span<double> values) const = 0;
};

/// The System as one that is watched; null if nothing is watched besides its observables.
inline const Watched* watched(const System& system) {
  return dynamic_cast<const Watched*>(&system);
}

/// The System as one that is watched, where a condition ends the run; null if none does.
inline const Watched* stopping(const System& system) {
  const Watched* const found = watched(system);
  return found != nullptr && found->stops() ? found : nullptr;
}

/// Numbers of the training rule that are recorded beside the System's observables.
inline std::span<const ObservableInfo> numbers_of_rule(const System& system) {
  const Watched* const found = watched(system);
  return found != nullptr ? found->of_rule() : std::span<const ObservableInfo>();
}

}  // namespace popflow
