#pragma once

#include <cstddef>
#include <span>

namespace popflow {

/// Number of trajectories of small states that are integrated side by side: several vector
/// registers, so that chains of dependent operations overlap.
inline constexpr std::size_t kLanes = 16;

/// Largest number of entries of a state for which lanes pay off: the working set of a step of
/// sixteen such states stays in the innermost caches.
inline constexpr std::size_t kLargestInLanes = 64;

/// Numbers of rows on which formulas work.
struct LaneSizes {
  std::size_t parameters = 0;
  std::size_t entries = 0;  ///< of the state
  bool operator==(const LaneSizes&) const = default;
};

/// Writes numbers of kLanes states `x`, in problems with the parameters `of`.
using LaneFormula = void (*)(const LaneSizes& sizes, const double* of, const double* x,
                             double* out);

/// Writes dx/dt, and the lower triangle of Covariance::covariance() row by row.
using LaneCovarianceFormula = void (*)(const double* of, const double* x, double* dxdt,
                                       double* covariance);

/// Formulas of a System for kLanes independent trajectories at once. Arrays consist of rows of
/// kLanes numbers, one row for each entry of the state, parameter, event or passage; number l of
/// every row belongs to trajectory l. The result in a lane depends neither on the other lanes nor
/// on the processor's instruction set. No formula depends on time.
///
/// The formulas agree with the System's functions to rounding for states with finite entries; for
/// other states they may return anything, but must not trap.
struct LaneFormulas {
  LaneSizes sizes;
  LaneFormula flow = nullptr;  ///< writes dx/dt
  /// Null if the System has no covariance, or has events that are extrema.
  LaneCovarianceFormula flow_and_covariance = nullptr;
  /// Writes Events::event_functions(), followed, if any event is an extremum, by
  /// Events::event_height() of each. Null if there are no events.
  LaneFormula events = nullptr;
  LaneFormula passages = nullptr;  ///< Events::passage_functions(); null where there are none

  bool operator==(const LaneFormulas&) const = default;
};

/// A small System whose formulas exist for several trajectories at once. It must have no regimes
/// and no proximal term. The function of an event that waits for another event is evaluated from
/// the start, but only watched once the other has happened.
class InLanes {
 public:
  virtual ~InLanes() = default;
  /// Systems with the same formulas can share a batch: they differ only in their parameters.
  [[nodiscard]] virtual const LaneFormulas& lane_formulas() const = 0;
  /// Writes this System's parameters.
  virtual void lane_parameters(std::span<double> of) const = 0;
};

}  // namespace popflow
