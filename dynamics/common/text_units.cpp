#include "dynamics/common/text_units.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include "popflow/error.hpp"
#include "text/unicode.hpp"

namespace popflow {
namespace {

/// Decodes code points from UTF-8, byte by byte.
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
  /// Whether the decoder is in the middle of a code point.
  [[nodiscard]] bool open() const { return missing_ > 0; }

 private:
  /// The range of the second byte excludes overlong forms, surrogates and code points beyond
  /// U+10FFFF.
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

/// Code points of a file, read in pieces.
class CodePoints {
 public:
  explicit CodePoints(const std::string& path) : path_(path), buffer_(std::size_t{1} << 16) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (!std::filesystem::exists(status)) throw InputError("text file " + path + " does not exist");
    if (std::filesystem::is_directory(status))
      throw InputError(path + " is a directory, not a text");
    // The file is read twice, which a pipe does not allow.
    if (!std::filesystem::is_regular_file(status))
      throw InputError(path + " is not a regular file");
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
  std::uint64_t offset_ = 0;  ///< offset of the next byte in the file
  std::uint64_t start_ = 0;   ///< offset of the code point's first byte
};

/// Splits folded code points into character units.
class CharacterCutter {
 public:
  explicit CharacterCutter(const std::function<void(std::string_view)>& visit) : visit_(visit) {}

  void take(char32_t c) {
    const bool space = text::is_space(c);
    const bool inside = space && after_space_;
    after_space_ = space;
    if (inside) return;
    unit_.clear();
    text::append_utf8(unit_, space ? U' ' : c);
    visit_(unit_);
  }
  void finish() {}

 private:
  const std::function<void(std::string_view)>& visit_;
  std::string unit_;
  bool after_space_ = false;
};

/// Splits folded code points into words.
class WordCutter {
 public:
  explicit WordCutter(const std::function<void(std::string_view)>& visit) : visit_(visit) {}

  void take(char32_t c) {
    constexpr char32_t kTypographicApostrophe = 0x2019;
    if (c == kTypographicApostrophe) c = U'\'';
    const bool begins = c == U'\'' || text::is_letter(c) || text::is_number(c);
    if (word_.empty() && !begins) return;  // a mark or a joiner outside a word
    if (begins || text::is_mark(c)) {
      append(c);
    } else if (text::is_joiner(c)) {
      text::append_utf8(joiners_, c);
    } else {
      finish();
    }
  }
  void finish() {
    if (!word_.empty()) visit_(word_);
    word_.clear();
    joiners_.clear();
  }

 private:
  void append(char32_t c) {
    word_ += joiners_;
    joiners_.clear();
    text::append_utf8(word_, c);
  }

  const std::function<void(std::string_view)>& visit_;
  std::string word_;
  std::string joiners_;  ///< joiners at the end of the word, which are left out
};

/// Splits a text into units. `next` returns its code points one by one, and nothing at the end.
template <class Units, class Next>
void cut(Next next, const std::function<void(std::string_view)>& visit) {
  text::Folding folding;
  Units units(visit);
  while (const std::optional<char32_t> c = next())
    for (const char32_t folded : folding.take(*c)) units.take(folded);
  for (const char32_t folded : folding.finish()) units.take(folded);
  units.finish();
}

/// The code point of a character unit.
char32_t code_point(std::string_view character) {
  Decoder decoder;
  for (const char byte : character) decoder.take(static_cast<unsigned char>(byte));
  return decoder.code();
}

}  // namespace

void for_each_unit(const std::string& path, TextUnit unit,
                   const std::function<void(std::string_view)>& visit) {
  CodePoints text(path);
  const auto next = [&text] { return text.next(); };
  if (unit == TextUnit::character) {
    cut<CharacterCutter>(next, visit);
  } else {
    cut<WordCutter>(next, visit);
  }
}

std::vector<std::string> characters_of(std::string_view text) {
  std::vector<std::string> units;
  Decoder decoder;
  const auto next = [&]() -> std::optional<char32_t> {
    while (!text.empty()) {
      const auto step = decoder.take(static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
      if (step == Decoder::Step::complete) return decoder.code();
    }
    return std::nullopt;
  };
  cut<CharacterCutter>(next, [&units](std::string_view unit) { units.emplace_back(unit); });
  return units;
}

bool is_letter(std::string_view character) { return text::is_letter(code_point(character)); }

std::string base_letter(std::string_view character) {
  std::string base;
  text::append_utf8(base, text::base_letter(code_point(character)));
  return base;
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
  Decoder decoder;
  std::size_t start = 0;
  for (std::size_t i = 0; i < unit.size(); ++i) {
    if (decoder.take(static_cast<unsigned char>(unit[i])) == Decoder::Step::more) continue;
    const std::string_view character = unit.substr(start, i + 1 - start);
    start = i + 1;
    const char32_t c = decoder.code();
    const bool alone = character.size() == unit.size();
    if (c == U' ') {
      label += "\u2423";
    } else if (text::is_invisible(c) && (alone || c < 0x80)) {
      char number[16];
      std::snprintf(number, sizeof number, "U+%04X", static_cast<unsigned>(c));
      label += number;
    } else {
      label += character;
    }
  }
  return label;
}

}  // namespace popflow
