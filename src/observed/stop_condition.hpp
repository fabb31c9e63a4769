#pragma once

#include <string>

#include "popflow/system_info.hpp"

namespace popflow {

/// Whether the value of --stop-when is a condition and not a keyword of the option.
bool is_condition(const std::string& words);

/// Condition of --stop-when on an observable.
struct StopCondition {
  std::string observable;
  bool below = true;    ///< whether the comparison is < or <=; otherwise > or >=
  bool equals = false;  ///< whether the comparison is <= or >=
  double bound = 0;
  std::string words;  ///< text of the condition as the user gave it, for messages

  /// Negative if and only if the condition holds for this value of the observable; continuous.
  [[nodiscard]] double function(double value) const;

  /// Parses an observable of the system, <, <=, > or >=, and a number. Throws UsageError for any
  /// other text.
  static StopCondition parse(const std::string& words, const SystemInfo& system);
};

}  // namespace popflow
