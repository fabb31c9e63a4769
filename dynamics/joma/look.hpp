#pragma once

#include "popflow/bound.hpp"
#include "popflow/math.hpp"
#include "popflow/system_info.hpp"

namespace popflow::joma {

/// Results of the passes over a state's tokens, each done once.
struct Look {
  double entropy = 0;  ///< of the attention
  double learned_min = 0;
  double learned_max = 0;
  double clock_spread = 0;
};

/// How the attention's entropy changes along the flow, in units of the largest attention.
/// Conditions are those of the number: of each lane, where it is a Pack.
template <class Number>
struct EntropyRate {
  using Condition = decltype(Number() < Number());
  Number slope;     ///< d entropy/dt
  Number noise;     ///< its rounding error
  Condition even;   ///< all tokens have the same attention: the entropy is at its maximum
  Condition falls;  ///< then: rates differ among tokens, so that it falls from there
};

/// Becomes positive where the entropy begins to fall.
template <class Number>
POPFLOW_MATH_INLINE Number falling(const EntropyRate<Number>& rate) {
  const Number at_maximum = math::select(rate.falls, Number(1), Number(-1));
  return math::select(rate.even, at_maximum, -rate.slope - rate.noise);
}
/// Becomes positive where the entropy begins to rise.
template <class Number>
POPFLOW_MATH_INLINE Number rising(const EntropyRate<Number>& rate) {
  return rate.slope - 2 * rate.noise;
}

/// The observables, each with its function.
const BoundTable<ObservableInfo, Look>& observable_table();
/// Its events.
const BoundTable<EventInfo, EntropyRate<double>>& event_table();

}  // namespace popflow::joma
