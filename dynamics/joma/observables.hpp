#pragma once

#include "popflow/bound.hpp"
#include "popflow/math.hpp"
#include "popflow/system_info.hpp"

namespace popflow::joma {

/// Evaluation of a state for the observables; each part needs one pass over the tokens.
struct Evaluation {
  double entropy = 0;  ///< entropy of the attention
  double learned_min = 0;
  double learned_max = 0;
  double clock_spread = 0;
};

/// Change of the attention's entropy along the flow, in units of the largest attention. Conditions
/// match the type of number: one per lane for a Pack.
template <class Number>
struct EntropyRate {
  using Condition = decltype(Number() < Number());
  Number slope;     ///< d entropy/dt
  Number noise;     ///< rounding error of `slope`
  Condition even;   ///< all tokens have the same attention: the entropy is at its maximum
  Condition falls;  ///< whether the entropy would then fall, because rates differ among tokens
};

/// Event function that becomes positive when the entropy begins to fall.
template <class Number>
POPFLOW_MATH_INLINE Number falling(const EntropyRate<Number>& rate) {
  const Number at_maximum = math::select(rate.falls, Number(1), Number(-1));
  return math::select(rate.even, at_maximum, -rate.slope - rate.noise);
}
/// Event function that becomes positive when the entropy begins to rise.
template <class Number>
POPFLOW_MATH_INLINE Number rising(const EntropyRate<Number>& rate) {
  return rate.slope - 2 * rate.noise;
}

/// Table of the observables.
const BoundTable<ObservableInfo, Evaluation>& observable_table();
/// Table of the events.
const BoundTable<EventInfo, EntropyRate<double>>& event_table();

}  // namespace popflow::joma
