#pragma once

#include "popflow/bound.hpp"
#include "popflow/system_info.hpp"

namespace popflow::joma {

/// What is known of a state after the passes over its tokens, each done once.
struct Look {
  double entropy = 0;  ///< of the attention
  double learned_min = 0;
  double learned_max = 0;
  double clock_spread = 0;
};

/// How the attention's entropy changes along the flow, in units of the largest attention.
struct EntropyRate {
  double slope = 0;    ///< d entropy/dt
  double noise = 0;    ///< its rounding error
  bool even = false;   ///< all tokens have the same attention: the entropy is at its maximum
  bool falls = false;  ///< then: rates differ among tokens, so that it falls from there
};

/// What becomes positive where the entropy begins to fall.
inline double falling(const EntropyRate& rate) {
  const double slope = -rate.slope - rate.noise;
  const double at_maximum = rate.falls ? 1.0 : -1.0;
  return rate.even ? at_maximum : slope;
}
/// ... and to rise.
inline double rising(const EntropyRate& rate) { return rate.slope - 2 * rate.noise; }

/// The observables, each with its function.
const BoundTable<ObservableInfo, Look>& observable_table();
/// Its events.
const BoundTable<EventInfo, EntropyRate>& event_table();

}  // namespace popflow::joma
