#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "popflow/parameter.hpp"

namespace popflow::text {

/// Width to which pages of text are wrapped.
inline constexpr std::size_t page_width = 90;

/// Width in characters, not bytes: symbols of the papers are UTF-8.
std::size_t display_width(std::string_view text);

/// Blank at which lines are not broken, for example between a name and its value.
inline constexpr char kHeld = '\x1f';

/// Breaks `text` at blanks into lines of at most `width` characters (longer words are not broken).
std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// Wrapped paragraph, in which `indent` blanks precede each line.
std::string paragraph(std::string_view text, std::size_t indent = 0);

/// Rows in aligned columns, with two blanks between them; the last column is wrapped. Columns that
/// are empty in every row are left out.
std::string columns(const std::vector<std::vector<std::string>>& rows, std::size_t indent = 2);

/// `words` joined by `separator`.
std::string join(const std::vector<std::string>& words, std::string_view separator);

/// List of alternatives: "a, b or c".
std::string one_of(const std::vector<std::string>& words);

/// Words with a positive count: "3 complete, 1 missing".
std::string counted(const std::vector<std::uint64_t>& counts,
                    const std::vector<std::string>& words);

/// Splits `text` at separators, except after a backslash. Before a separator or the end, two
/// backslashes stand for one, so that a part can end with a backslash. Other backslashes are
/// literal.
std::vector<std::string> split(std::string_view text, char separator);
/// Escapes `part`, so that split() keeps it whole.
std::string escaped(std::string_view part, char separator);

/// Splits `text` at blanks.
std::vector<std::string> split_words(std::string_view text);
/// Splits a text into lines, without their ends.
std::vector<std::string> lines(const std::string& text);

/// Placeholder for the value of an option: N, X, WORD, FILE, TEXT or X,Y,...; empty for a flag.
std::string placeholder(const Parameter& parameter);

/// Form of an option in help: "--output FILE" or, with its letter, "-o, --output FILE".
std::string option_form(const Parameter& parameter);

/// Allowed values of a parameter, such as "at least 2" or "a, b".
std::string allowed_values(const Parameter& parameter);

/// Default value for the help; empty if none is shown.
std::string shown_default(const Parameter& parameter);

/// Formats a number for people, to six digits.
std::string rounded(double value);

/// Formats a number to `number` digits.
std::string digits(double value, int number = 3);

/// Value with its error to two digits, and to the same decimal place: "0.4318 ± 0.0012". The value
/// alone if there is no error; "-" if there is no value.
std::string with_error(double value, double error);

/// Hash as sixteen hexadecimal digits.
std::string hexadecimal(std::uint64_t number);

/// Seconds as 0:07, 12:34 or 1:02:03.
std::string duration(double seconds);

/// Formats a measured time in seconds: 0.0123 s, 12.3 s, 1234 s.
std::string measured(double seconds);

}  // namespace popflow::text
