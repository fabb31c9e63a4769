#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace popflow {

/// The units into which a text is split. Both: UTF-8, A to Z made lower-case, a leading byte-order
/// mark left out.
enum class TextUnit {
  /// Unicode code points; a run of white space, wherever it is, is one space.
  character,
  /// Maximal runs of letters, digits and apostrophes. Beyond ASCII everything counts as a letter
  /// but white space, punctuation and symbols; the typographic apostrophe is made the plain one.
  word,
};

/// Calls visit(unit) for each unit of a text file, in order. The file is streamed; only one word is
/// held at a time. Throws InputError when the file is missing, no regular file, unreadable, empty
/// or not UTF-8 (with the offset of the first wrong byte, from 0).
void for_each_unit(const std::string& path, TextUnit unit,
                   const std::function<void(std::string_view)>& visit);

/// The character units of a text in memory, folded as those of a file are; `text` must be UTF-8.
std::vector<std::string> characters_of(std::string_view text);

/// Is this character unit a letter? a to z, and beyond ASCII all but white space, punctuation and
/// symbols.
bool is_letter(std::string_view character);

/// The offset of the first byte of `text` that is not valid UTF-8, or npos.
std::size_t find_invalid_utf8(std::string_view text);

/// A unit as a label: a space is shown as U+2423 (open box), a control character as its number.
std::string label_of(std::string_view unit);

}  // namespace popflow
