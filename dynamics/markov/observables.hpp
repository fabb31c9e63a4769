#pragma once

#include "dynamics/markov/chain.hpp"
#include "popflow/bound.hpp"
#include "popflow/system_info.hpp"

namespace popflow::markov {

/// Derivatives of the loss at a state.
struct Gradient {
  Logits logits;
  double slope = 0;
  double g0 = 0, g1 = 0;  ///< with respect to f_0 and f_1
  double by_e = 0, by_w = 0, by_b = 0;
};

/// Quantities from which the observables are computed.
struct Evaluation {
  const Chain& chain;
  double e = 0, w = 0;
  const Gradient& by;
  double excess = 0;  ///< loss above the entropy rate
};
const BoundTable<ObservableInfo, Evaluation>& observables();

/// Quantities from which the events are computed. The loss with the optimal bias depends on the
/// slope alone, so the loss need not be evaluated.
struct EventEvaluation {
  double slope = 0;
  SlopeRange settled;  ///< slopes at which the loss is near its limit
};

/// Fraction of the initial excess loss at which the loss counts as settled.
inline constexpr double kSettled = 0.01;

const BoundTable<EventInfo, EventEvaluation>& events();

}  // namespace popflow::markov
