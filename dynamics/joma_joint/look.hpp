#pragma once

#include "dynamics/joma_joint/flow.hpp"
#include "popflow/bound.hpp"
#include "popflow/system_info.hpp"

namespace popflow::joma_joint {

/// Results at a state after the flow has been evaluated there.
struct Look {
  const Flow& flow;
  const Point& at;
  const Theorem& theorem;
  double entropy = 0;  ///< of the attention, mean over classes
  double stable_rank = 0;
  Theorem::Correlations correlations;
};

/// How fast the attention's entropy and the stable rank change along the flow, and the size below
/// which such a rate is rounding error.
struct Rates {
  double entropy = 0;
  double entropy_rounding = 0;
  double rank = 0;  ///< half the logarithmic rate
  double rank_rounding = 0;
};

/// The observables, each with its function.
const BoundTable<ObservableInfo, Look>& observable_table();
/// Its events.
const BoundTable<EventInfo, Rates>& event_table();

}  // namespace popflow::joma_joint
