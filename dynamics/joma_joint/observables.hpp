#pragma once

#include "dynamics/joma_joint/flow.hpp"
#include "popflow/bound.hpp"
#include "popflow/system_info.hpp"

namespace popflow::joma_joint {

/// Evaluation of a state for the observables.
struct Evaluation {
  const Flow& flow;
  const Point& at;
  const Theorem& theorem;
  double entropy = 0;  ///< entropy of the attention, averaged over classes
  double stable_rank = 0;
  Theorem::Correlations correlations;
};

/// Rates of change of the attention's entropy and the stable rank along the flow, and the sizes
/// below which they are rounding errors.
struct Rates {
  double entropy = 0;
  double entropy_rounding = 0;
  double rank = 0;  ///< half the logarithmic rate
  double rank_rounding = 0;
};

/// Table of the observables.
const BoundTable<ObservableInfo, Evaluation>& observable_table();
/// Table of the events.
const BoundTable<EventInfo, Rates>& event_table();

}  // namespace popflow::joma_joint
