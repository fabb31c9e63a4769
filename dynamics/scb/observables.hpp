#pragma once

#include <cstdint>

#include "dynamics/scb/parts.hpp"
#include "dynamics/scb/signal.hpp"
#include "popflow/bound.hpp"
#include "popflow/system_info.hpp"

/// Recorded values of a state, each declared together with the function that computes it.
namespace popflow::scb {

/// Evaluation of a state for the observables.
struct Evaluation {
  const ValueReport& V;
  const AttentionReport& A;
  double loss = 0;
  double excess_loss = 0;
  double signal_V = 0;  ///< NaN if P has no signal
  double signal_A = 0;  ///< NaN if Q has no signal
};

/// Evaluation of a state for the events: only the quantities that events need, because it is
/// computed after every step.
struct EventEvaluation {
  SignalState<double> signals{};
  std::int8_t stage = 1;
};

/// End of a run, before and after rounding and normalising.
struct EndEvaluation {
  struct Side {
    const ValueReport& V;
    const AttentionReport& A;
    double loss = 0;
  };
  Side before, after;
  const Sparsified& kept;                  ///< weights of A that are kept
  Eigen::Index V_columns_without_sum = 0;  ///< columns of V without a positive sum
  double below_threshold = 0;              ///< number of columns of A, after stage 1
};

const BoundTable<ObservableInfo, Evaluation>& observable_table();
const BoundTable<EventInfo, EventEvaluation>& event_table();
const BoundTable<FinalInfo, EndEvaluation>& final_table();

}  // namespace popflow::scb
