#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace popflow {

/// The units into which a text is split. Before that the text is folded: UTF-8 in Unicode's
/// Normalization Form C, full case folding (so that a sharp s becomes ss, and a final sigma a
/// sigma), without a leading byte-order mark and without soft hyphens (U+00AD).
enum class TextUnit {
  /// Unicode code points; a run of white space, wherever it is, is one space.
  character,
  /// Maximal runs of letters, numbers and apostrophes, with the marks and the joiners (U+200C,
  /// U+200D) inside. The typographic apostrophe is made the plain one.
  word,
};

/// Calls visit(unit) for each unit of a text file, in order. The file is streamed; only one word is
/// held at a time. Throws InputError when the file is missing, no regular file, unreadable, empty
/// or not UTF-8 (with the offset of the first wrong byte, from 0).
void for_each_unit(const std::string& path, TextUnit unit,
                   const std::function<void(std::string_view)>& visit);

/// The character units of a text in memory, folded as those of a file are; `text` must be UTF-8.
std::vector<std::string> characters_of(std::string_view text);

/// Is this character unit a letter, of whatever alphabet?
bool is_letter(std::string_view character);

/// The letter of a character unit without its marks (text::base_letter()).
std::string base_letter(std::string_view character);

/// The offset of the first byte of `text` that is not valid UTF-8, or npos.
std::size_t find_invalid_utf8(std::string_view text);

/// A unit as a label: a space is shown as U+2423 (open box), a control character, or a unit that is
/// nothing but a format character (a joiner, say), as its number.
std::string label_of(std::string_view unit);

}  // namespace popflow
