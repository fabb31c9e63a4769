#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace popflow {

/// Units into which a text is split. The text is folded first: UTF-8 in Unicode's Normalization
/// Form C, full case folding (so that a sharp s becomes ss, and a final sigma a sigma), without a
/// leading byte-order mark and without soft hyphens (U+00AD).
enum class TextUnit {
  /// Unicode code points; a run of white space is one space.
  character,
  /// Maximal runs of letters, numbers and apostrophes, including marks and joiners (U+200C, U+200D)
  /// inside them. The typographic apostrophe becomes the plain one.
  word,
};

/// Calls visit(unit) for each unit of a text file, in order. The file is streamed; only one word is
/// held in memory. Throws InputError if the file is missing, not a regular file, unreadable, empty
/// or not UTF-8 (with the offset of the first invalid byte, from 0).
void for_each_unit(const std::string& path, TextUnit unit,
                   const std::function<void(std::string_view)>& visit);

/// Character units of a text in memory, folded like those of a file; `text` must be UTF-8.
std::vector<std::string> characters_of(std::string_view text);

/// Whether a character unit is a letter of any alphabet.
bool is_letter(std::string_view character);

/// The letter of a character unit without its marks (text::base_letter()).
std::string base_letter(std::string_view character);

/// Offset of the first byte of `text` that is not valid UTF-8; npos if there is none.
std::size_t find_invalid_utf8(std::string_view text);

/// Label of a unit: a space is shown as U+2423 (open box); a control character, or a unit that is
/// only a format character (such as a joiner), as its number.
std::string label_of(std::string_view unit);

}  // namespace popflow
