#include "dynamics/common/text_units.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include "popflow/error.hpp"

namespace popflow {
namespace {

struct Interval {
  char32_t first;
  char32_t last;
};

/// Unicode's White_Space property beyond ASCII.
constexpr std::array<Interval, 8> white_space = {{{0x85, 0x85},
                                                  {0xA0, 0xA0},
                                                  {0x1680, 0x1680},
                                                  {0x2000, 0x200A},
                                                  {0x2028, 0x2029},
                                                  {0x202F, 0x202F},
                                                  {0x205F, 0x205F},
                                                  {0x3000, 0x3000}}};

/// Blocks beyond ASCII that hold controls, punctuation and symbols; the letters among them (the
/// ordinal signs and the micro sign) are taken out in is_word().
constexpr std::array<Interval, 10> no_letters = {{{0x80, 0xBF},
                                                  {0xD7, 0xD7},
                                                  {0xF7, 0xF7},
                                                  {0x2000, 0x206F},
                                                  {0x20A0, 0x20CF},
                                                  {0x2190, 0x2BFF},
                                                  {0x2E00, 0x2E7F},
                                                  {0x3000, 0x3004},
                                                  {0x3008, 0x3020},
                                                  {0xFE10, 0xFE6F}}};

template <std::size_t size>
bool within(const std::array<Interval, size>& intervals, char32_t c) {
  return std::any_of(intervals.begin(), intervals.end(),
                     [c](const Interval& i) { return i.first <= c && c <= i.last; });
}

bool is_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
  return within(white_space, c);
}

bool is_word(char32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '\'';
  if (c == 0xAA || c == 0xB5 || c == 0xBA) return true;
  return !within(no_letters, c);
}

char32_t lower(char32_t c) { return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c; }

void append_utf8(std::string& text, char32_t c) {
  const auto put = [&text](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6);
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

/// Code points from UTF-8, a byte at a time.
class Decoder {
 public:
  enum class Step { more, complete, invalid };

  Step take(unsigned char byte) {
    if (missing_ == 0) return begin(byte);
    if (byte < low_ || byte > high_) return Step::invalid;
    low_ = 0x80;
    high_ = 0xBF;
    code_ = code_ << 6 | (byte & 0x3Fu);
    return --missing_ == 0 ? Step::complete : Step::more;
  }
  [[nodiscard]] char32_t code() const { return code_; }
  /// Is it in the middle of a code point?
  [[nodiscard]] bool open() const { return missing_ > 0; }

 private:
  /// The second byte's range shuts out overlong forms, surrogates and what is beyond U+10FFFF.
  Step begin(unsigned char byte) {
    if (byte < 0x80) {
      code_ = byte;
      return Step::complete;
    }
    if (byte < 0xC2 || byte > 0xF4) return Step::invalid;
    missing_ = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
    code_ = byte & (0x3Fu >> missing_);
    low_ = byte == 0xE0 ? 0xA0 : byte == 0xF0 ? 0x90 : 0x80;
    high_ = byte == 0xED ? 0x9F : byte == 0xF4 ? 0x8F : 0xBF;
    return Step::more;
  }

  char32_t code_ = 0;
  int missing_ = 0;
  unsigned char low_ = 0x80;
  unsigned char high_ = 0xBF;
};

/// The code points of a file, read in pieces.
class CodePoints {
 public:
  explicit CodePoints(const std::string& path) : path_(path), buffer_(std::size_t{1} << 16) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (!std::filesystem::exists(status)) throw InputError("text file " + path + " does not exist");
    if (std::filesystem::is_directory(status))
      throw InputError(path + " is a directory, not a text");
    // It is read twice, which a pipe cannot be.
    if (!std::filesystem::is_regular_file(status)) throw InputError(path + " is no regular file");
    file_.reset(std::fopen(path.c_str(), "rb"));
    if (!file_) throw InputError("cannot read " + path + ": " + std::strerror(errno));
  }

  /// The next code point; nothing at the end.
  std::optional<char32_t> next() {
    for (;;) {
      if (used_ == filled_ && !fill()) {
        if (decoder_.open()) throw invalid(start_);
        return std::nullopt;
      }
      if (!decoder_.open()) start_ = offset_;
      const auto step = decoder_.take(static_cast<unsigned char>(buffer_[used_++]));
      ++offset_;
      if (step == Decoder::Step::invalid) throw invalid(offset_ - 1);
      if (step == Decoder::Step::complete && !(decoder_.code() == 0xFEFF && start_ == 0)) {
        return decoder_.code();
      }
    }
  }

 private:
  bool fill() {
    filled_ = std::fread(buffer_.data(), 1, buffer_.size(), file_.get());
    used_ = 0;
    if (filled_ == 0 && std::ferror(file_.get()) != 0) {
      throw InputError("cannot read " + path_ + ": " + std::strerror(errno));
    }
    if (filled_ == 0 && offset_ == 0) throw InputError("text file " + path_ + " is empty");
    return filled_ > 0;
  }

  [[nodiscard]] InputError invalid(std::uint64_t offset) const {
    return InputError(path_ + " is not valid UTF-8 at byte " + std::to_string(offset) +
                      " (counted from 0)");
  }

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::vector<char> buffer_;
  std::size_t used_ = 0;
  std::size_t filled_ = 0;
  Decoder decoder_;
  std::uint64_t offset_ = 0;  ///< of the next byte in the file
  std::uint64_t start_ = 0;   ///< of the code point's first byte
};

/// Character units from code points, one by one.
class Characters {
 public:
  /// The unit that this code point begins; nothing inside a run of white space.
  const std::string* take(char32_t c) {
    const bool space = is_space(c);
    const bool inside = space && after_space_;
    after_space_ = space;
    if (inside) return nullptr;
    unit_.clear();
    append_utf8(unit_, space ? U' ' : lower(c));
    return &unit_;
  }

 private:
  std::string unit_;
  bool after_space_ = false;
};

void for_each_character(CodePoints& text, const std::function<void(std::string_view)>& visit) {
  Characters characters;
  while (const auto c = text.next())
    if (const std::string* unit = characters.take(*c)) visit(*unit);
}

void for_each_word(CodePoints& text, const std::function<void(std::string_view)>& visit) {
  std::string word;
  while (const auto c = text.next()) {
    const char32_t folded = *c == 0x2019 ? U'\'' : lower(*c);
    if (is_word(folded)) {
      append_utf8(word, folded);
    } else if (!word.empty()) {
      visit(word);
      word.clear();
    }
  }
  if (!word.empty()) visit(word);
}

}  // namespace

void for_each_unit(const std::string& path, TextUnit unit,
                   const std::function<void(std::string_view)>& visit) {
  CodePoints text(path);
  if (unit == TextUnit::character) {
    for_each_character(text, visit);
  } else {
    for_each_word(text, visit);
  }
}

std::vector<std::string> characters_of(std::string_view text) {
  std::vector<std::string> units;
  Decoder decoder;
  Characters characters;
  for (const char byte : text) {
    if (decoder.take(static_cast<unsigned char>(byte)) != Decoder::Step::complete) continue;
    if (const std::string* unit = characters.take(decoder.code())) units.push_back(*unit);
  }
  return units;
}

bool is_letter(std::string_view character) {
  if (character.size() == 1) return character[0] >= 'a' && character[0] <= 'z';
  Decoder decoder;
  for (const char byte : character) decoder.take(static_cast<unsigned char>(byte));
  return !is_space(decoder.code()) && is_word(decoder.code());
}

std::size_t find_invalid_utf8(std::string_view text) {
  Decoder decoder;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (decoder.take(static_cast<unsigned char>(text[i])) == Decoder::Step::invalid) return i;
  }
  return decoder.open() ? text.size() : std::string_view::npos;
}

std::string label_of(std::string_view unit) {
  std::string label;
  for (const char c : unit) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == ' ') {
      label += "\u2423";
    } else if (byte < 0x20 || byte == 0x7F) {
      char number[8];
      std::snprintf(number, sizeof number, "U+%04X", static_cast<unsigned>(byte));
      label += number;
    } else {
      label += c;
    }
  }
  return label;
}

}  // namespace popflow
