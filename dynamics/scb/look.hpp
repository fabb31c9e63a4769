#pragma once

#include <cstdint>

#include "dynamics/scb/parts.hpp"
#include "dynamics/scb/signal.hpp"
#include "popflow/bound.hpp"
#include "popflow/system_info.hpp"

/// The numbers that are recorded of a state, each declared together with what it is worked out
/// from.
namespace popflow::scb {

/// A state, for the observables.
struct Look {
  const ValueReport& V;
  const AttentionReport& A;
  double loss = 0;
  double excess_loss = 0;
  double signal_V = 0;  ///< NaN where P has no signal
  double signal_A = 0;  ///< NaN where Q has none
};

/// A state, for the events: only what they need, since they are asked for after every step.
struct EventLook {
  SignalLook<double> signals{};
  std::int8_t stage = 1;
};

/// The end of a run, as it is and as rounding and normalising make it.
struct EndLook {
  struct Side {
    const ValueReport& V;
    const AttentionReport& A;
    double loss = 0;
  };
  Side before, after;
  const Kept& kept;            ///< of A
  Eigen::Index V_without = 0;  ///< columns of V without a positive sum
  double below_threshold = 0;  ///< columns of A, after stage 1
};

const BoundTable<ObservableInfo, Look>& observable_table();
const BoundTable<EventInfo, EventLook>& event_table();
const BoundTable<FinalInfo, EndLook>& final_table();

}  // namespace popflow::scb
