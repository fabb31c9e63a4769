#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace popflow::markov {

/// Transitions between two classes of a text's characters: first index from, second to.
struct TransitionCounts {
  std::int64_t of[2][2] = {{0, 0}, {0, 0}};
};

/// Counts them in a file (UTF-8). `ones` lists the characters of class 1, `zeros` those of class 0
/// (nothing: all other letters). Characters in neither are left out, and those on either side of
/// them then count as neighbours, as in Markov's own count. Throws UsageError for lists that are
/// empty, not UTF-8 or share a character; InputError for a text that cannot be read.
TransitionCounts count_transitions(const std::string& path, const std::string& ones,
                                   const std::optional<std::string>& zeros);

}  // namespace popflow::markov
