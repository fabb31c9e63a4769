#pragma once

#include <cstddef>
#include <span>

namespace popflow {

/// Trajectories of small states that are computed side by side: some vector registers full, so that
/// chains of dependent operations overlap.
inline constexpr std::size_t kLanes = 16;

/// The formulas of a System for kLanes independent trajectories at once. Arrays consist of rows of
/// kLanes numbers, one row for each entry of the state, parameter or event; number l of every row
/// belongs to trajectory l, and nothing else is computed from it: what happens in a lane depends on
/// no other lane, nor on the processor's instruction set. No formula depends on time.
///
/// The flow agrees with System::rhs() to rounding, for states with finite entries; others give
/// anything, and never trap.
struct LaneFormulas {
  std::size_t parameters = 0;
  /// Writes dx/dt.
  void (*flow)(const double* of, const double* x, double* dxdt) = nullptr;
  /// Writes dx/dt, and the lower triangle of Covariance::covariance(), by rows. Null where the
  /// System has none.
  void (*flow_and_covariance)(const double* of, const double* x, double* dxdt,
                              double* covariance) = nullptr;
  /// Writes Events::event_functions(). Null where the System has no events.
  void (*events)(const double* of, const double* x, double* values) = nullptr;
};

/// A small System whose formulas exist for several trajectories at once. It has no regimes, no
/// proximal term, no passages and no events that are extrema. An event that waits for another has
/// its function among the others from the start, and is watched for from there on.
class InLanes {
 public:
  virtual ~InLanes() = default;
  /// The same object for all Systems that can move together: those that differ by their parameters.
  [[nodiscard]] virtual const LaneFormulas& lane_formulas() const = 0;
  /// Writes this System's LaneFormulas::parameters numbers.
  virtual void lane_parameters(std::span<double> of) const = 0;
};

}  // namespace popflow
