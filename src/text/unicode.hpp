#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace popflow::text {

/// Whether c is white space: Unicode's property White_Space.
[[nodiscard]] bool is_space(char32_t c);

/// Whether c is a letter of any alphabet: category L.
[[nodiscard]] bool is_letter(char32_t c);

/// Whether c is a combining mark, such as a separate accent or a dependent vowel sign: category M.
[[nodiscard]] bool is_mark(char32_t c);

/// Whether c is a digit or another number, such as a half or a Roman numeral: category N.
[[nodiscard]] bool is_number(char32_t c);

/// Whether c is a joiner inside words: U+200C (zero-width non-joiner) or U+200D (zero-width
/// joiner).
[[nodiscard]] bool is_joiner(char32_t c);

/// Whether c is a control or format character, which is invisible by itself: categories Cc and Cf.
[[nodiscard]] bool is_invisible(char32_t c);

/// Letter without its marks: e for U+00E9 (e with acute). A character that does not decompose into
/// one letter and marks is its own base. The Cyrillic short i (U+0439) and short u (U+045E) are
/// also their own bases: they are consonants, although Unicode decomposes them into vowels with a
/// breve.
[[nodiscard]] char32_t base_letter(char32_t c);

/// Appends a code point in UTF-8.
void append_utf8(std::string& text, char32_t c);

/// Folds a stream of code points: full case folding in Unicode's Normalization Form C, without soft
/// hyphens (U+00AD). Texts that are canonically equivalent, or differ only in case, become equal.
/// Uses the tables of utf8proc.
class Folding {
 public:
  /// Takes the next code point; returns the folded code points that no later one can change. The
  /// view is valid until the next call.
  std::u32string_view take(char32_t c);
  /// Returns the rest at the end of the text.
  std::u32string_view finish();

 private:
  void fold();
  void decompose(int options);

  std::u32string cluster_;  ///< code points that can still combine with the next one
  std::u32string folded_;
  std::string bytes_;
  std::vector<int> points_;
};

}  // namespace popflow::text
