#pragma once

#include <string>

#include "popflow/system_info.hpp"

namespace popflow {

/// Whether words of --stop-when state a condition, rather than one of the option's own words.
bool is_condition(const std::string& words);

/// A condition on an observable, as --stop-when states it.
struct StopCondition {
  std::string observable;
  bool below = true;    ///< < or <=, otherwise > or >=
  bool equals = false;  ///< <= or >=
  double bound = 0;
  std::string words;  ///< as the user gave them, for messages

  /// Negative if and only if the condition holds for a value; continuous in it.
  [[nodiscard]] double function(double value) const;

  /// Reads an observable of the system, <, <=, > or >=, and a number. Throws UsageError for any
  /// other words.
  static StopCondition parse(const std::string& words, const SystemInfo& system);
};

}  // namespace popflow
