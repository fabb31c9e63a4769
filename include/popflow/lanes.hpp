#pragma once

#include <cstddef>
#include <span>

namespace popflow {

/// Trajectories of small states that are computed side by side: some vector registers full, so that
/// chains of dependent operations overlap.
inline constexpr std::size_t kLanes = 16;

/// Lanes pay for states of up to so many entries: what steps of sixteen of them work in stays in
/// the caches nearest to the core.
inline constexpr std::size_t kLargestInLanes = 64;

/// How many rows formulas work on.
struct LaneSizes {
  std::size_t parameters = 0;
  std::size_t entries = 0;  ///< of the state
  bool operator==(const LaneSizes&) const = default;
};

/// Writes numbers of kLanes states `x`, in problems with the parameters `of`.
using LaneFormula = void (*)(const LaneSizes& sizes, const double* of, const double* x,
                             double* out);

/// Writes dx/dt, and the lower triangle of Covariance::covariance(), by rows.
using LaneCovarianceFormula = void (*)(const double* of, const double* x, double* dxdt,
                                       double* covariance);

/// The formulas of a System for kLanes independent trajectories at once. Arrays consist of rows of
/// kLanes numbers, one row for each entry of the state, parameter, event or passage; number l of
/// every row belongs to trajectory l, and nothing else is computed from it: what happens in a lane
/// depends on no other lane, nor on the processor's instruction set. No formula depends on time.
///
/// They agree with the System's functions to rounding, for states with finite entries; others give
/// anything, and never trap.
struct LaneFormulas {
  LaneSizes sizes;
  LaneFormula flow = nullptr;  ///< writes dx/dt
  /// Null where the System has no covariance, or has events that are extrema.
  LaneCovarianceFormula flow_and_covariance = nullptr;
  /// Events::event_functions(); then, if any event is an extremum, Events::event_height() of each.
  /// Null where there are none.
  LaneFormula events = nullptr;
  LaneFormula passages = nullptr;  ///< Events::passage_functions(); null where there are none

  bool operator==(const LaneFormulas&) const = default;
};

/// A small System whose formulas exist for several trajectories at once. It has no regimes and no
/// proximal term. An event that waits for another has its function among the others from the start,
/// and is watched for from there on.
class InLanes {
 public:
  virtual ~InLanes() = default;
  /// Systems with the same formulas can move together: they differ by their parameters.
  [[nodiscard]] virtual const LaneFormulas& lane_formulas() const = 0;
  /// Writes this System's parameters.
  virtual void lane_parameters(std::span<double> of) const = 0;
};

}  // namespace popflow
