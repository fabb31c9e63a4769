#include "text/utf8.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace popflow::text {

namespace {

constexpr std::string_view kReplacement = "\uFFFD";

/// Longest quotation: enough for any name in this program, and for a few lines of the terminal.
constexpr std::size_t kQuotedBytes = 200;

/// Length in bytes of the well-formed UTF-8 character at the start of `text`; 0 if there is none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead == 0) return 0;
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // The second byte reveals overlong forms, surrogates, and code points beyond U+10FFFF.
  const unsigned char second = byte(1);
  const bool forbidden = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
                         (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F);
  return forbidden ? 0 : length;
}

/// Number of bytes at the start of `text` that are ASCII characters other than NUL, eight at a
/// time.
std::size_t ascii_prefix(std::string_view text) {
  constexpr std::uint64_t kOnes = 0x0101010101010101, kHighBits = 0x8080808080808080;
  std::size_t length = 0;
  for (; length + sizeof kOnes <= text.size(); length += sizeof kOnes) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + length, sizeof word);
    // Without high bits, the subtraction sets one exactly if a byte is zero.
    if (((word | (word - kOnes)) & kHighBits) != 0) break;
  }
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c - 1) < 0x7F; };
  while (length < text.size() && is_ascii(text[length])) ++length;
  return length;
}

/// Whether the well-formed character is a control character: below U+0020, U+007F to U+009F, or a
/// character that breaks lines or changes the direction of writing. The latter are U+200E, U+200F,
/// U+2028 to U+202E and U+2066 to U+2069.
bool is_control(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return lead < 0x20 || lead == 0x7F;
  if (character.size() == 3 && lead == 0xE2) {
    const auto middle = static_cast<unsigned char>(character[1]);
    const auto last = static_cast<unsigned char>(character[2]);
    if (middle == 0x80) return last == 0x8E || last == 0x8F || (last >= 0xA8 && last <= 0xAE);
    return middle == 0x81 && last >= 0xA6 && last <= 0xA9;
  }
  return lead == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

/// Replaces every character of `text` that is malformed or refused by `keep`.
template <class Keep>
std::string filtered(std::string_view text, Keep keep) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const std::string_view character = text.substr(0, length);
    valid += length > 0 && keep(character) ? character : kReplacement;
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return valid;
}

}  // namespace

std::string as_utf8(std::string_view text) {
  const std::size_t plain = ascii_prefix(text);
  std::string valid(text.substr(0, plain));
  if (plain < text.size())
    valid += filtered(text.substr(plain), [](std::string_view) { return true; });
  return valid;
}

std::string_view cut_utf8(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

std::string printable(std::string_view text) {
  return filtered(text, [](std::string_view character) {
    return character == "\n" || character == "\t" || !is_control(character);
  });
}

std::string in_line(std::string_view text) {
  return filtered(text, [](std::string_view character) { return !is_control(character); });
}

std::string in_sentence(std::string_view words) {
  // Bytes beyond the limit need no check; a character that the limit cuts is shown as replaced.
  const std::string line = in_line(words.substr(0, kQuotedBytes));
  return words.size() <= kQuotedBytes ? line : line + "...";
}

}  // namespace popflow::text
