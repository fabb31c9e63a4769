#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace popflow::text {

/// Replaces every byte of `text` that is not part of valid UTF-8 (and every NUL) by U+FFFD. Some
/// readers refuse a file because of a single stray byte, for example from a file name in another
/// encoding.
[[nodiscard]] std::string as_utf8(std::string_view text);

/// Longest prefix of the valid UTF-8 `text` with at most `bytes` bytes and no cut character.
[[nodiscard]] std::string_view cut_utf8(std::string_view text, std::size_t bytes);

/// Makes untrusted `text` safe for a terminal: valid UTF-8 in which control characters other than
/// newline and tab are replaced by U+FFFD.
[[nodiscard]] std::string printable(std::string_view text);

/// Like printable(), but in one line: newlines and tabs are replaced, too.
[[nodiscard]] std::string in_line(std::string_view text);

/// Makes an untrusted name or phrase fit for a sentence: printable, in one line, cut if long.
[[nodiscard]] std::string in_sentence(std::string_view words);

}  // namespace popflow::text
