#pragma once

#include <limits>

#include "popflow/bound.hpp"
#include "popflow/system_info.hpp"

namespace popflow::topic {

inline constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

/// Mean weight of a key relative to its frequency, over documents, queries of the document's words,
/// and keys of a kind.
struct RelativeAttention {
  double same_word = 0, same_topic = 0, other_topic = 0;
};

/// Quantities from which the observables are computed, in symmetric coordinates and in full
/// matrices.
struct Evaluation {
  double loss = 0;     ///< without the l2 term
  double penalty = 0;  ///< the l2 term
  double excess = undefined;
  RelativeAttention attention;
  double norm_value = 0, norm_logit = 0;
  double norm_key = undefined, norm_query = undefined;
};
const BoundTable<ObservableInfo, Evaluation>& observables();

/// Quantities from which the events are computed; NaN for events that a variant lacks.
struct EventEvaluation {
  double norm_value = undefined;
  double norm_value_at_end = undefined;  ///< for training under uniform attention
  double norm_key = undefined;
  double norm_key_at_start = undefined;
};
const BoundTable<EventInfo, EventEvaluation>& events();

}  // namespace popflow::topic
