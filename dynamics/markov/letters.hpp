#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace popflow::markov {

/// Transitions between two classes of a text's characters: first index from, second to.
struct TransitionCounts {
  std::int64_t of[2][2] = {{0, 0}, {0, 0}};
};

/// Vowels of the Latin, Greek and Cyrillic alphabets, each without its marks: the default class 1.
/// Cyrillic: those of today's Slavic alphabets, yat and izhitsa of old ones, and the additional
/// vowels of Kazakh, Tatar and Mongolian.
inline constexpr const char* vowels =
    "aeiouy\u00e6\u00f8\u0153\u0131"
    "\u03b1\u03b5\u03b7\u03b9\u03bf\u03c5\u03c9"
    "\u0430\u0435\u0438\u043e\u0443\u044b\u044d\u044e\u044f\u0454\u0456\u0463\u0475"
    "\u04d9\u04e9\u04af\u04b1";

/// Counts the transitions in a file (UTF-8). `ones` lists the characters of class 1, `zeros` those
/// of class 0 (nothing: all other letters). A letter in neither list has the class of its base
/// letter, without accents. Characters of no class are left out, and the characters on both sides
/// of them count as neighbours, as in Markov's own count. Throws UsageError for lists that are
/// empty, not UTF-8 or share a character; InputError for a text that cannot be read.
TransitionCounts count_transitions(const std::string& path, const std::string& ones,
                                   const std::optional<std::string>& zeros);

}  // namespace popflow::markov
