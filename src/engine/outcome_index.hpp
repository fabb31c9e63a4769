#pragma once

#include <cstddef>
#include <string>

#include "popflow/error.hpp"
#include "popflow/system_info.hpp"

namespace popflow {

/// Index of an outcome in SystemInfo::outcomes, from 1; 0 for "undecided". Throws SystemError for
/// an unknown word.
inline std::size_t outcome_index(const SystemInfo& info, const std::string& word) {
  if (word == "undecided") return 0;
  for (std::size_t i = 0; i < info.outcomes.size(); ++i)
    if (info.outcomes[i].word == word) return i + 1;
  throw SystemError("the system " + info.name + ": its outcome is '" + word +
                    "', which its description does not list");
}

}  // namespace popflow
