#include "text/unicode.hpp"

#include <utf8proc.h>

#include <array>
#include <stdexcept>

namespace popflow::text {

namespace {

constexpr char32_t kSoftHyphen = 0xAD;
constexpr char32_t kCyrillicShortI = 0x439;
constexpr char32_t kCyrillicShortU = 0x45E;

/// Longest run of marks that is kept whole: sorting marks takes quadratic time. Unicode's
/// Stream-Safe Text Format allows 30.
constexpr std::size_t kLongestCluster = 128;

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool is_between(char32_t c, utf8proc_category_t first, utf8proc_category_t last) {
  const utf8proc_category_t own = category(c);
  return first <= own && own <= last;
}

}  // namespace

bool is_space(char32_t c) {
  return (c >= U'\t' && c <= U'\r') || c == 0x85 ||
         is_between(c, UTF8PROC_CATEGORY_ZS, UTF8PROC_CATEGORY_ZP);
}

bool is_letter(char32_t c) { return is_between(c, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO); }

bool is_mark(char32_t c) { return is_between(c, UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME); }

bool is_number(char32_t c) { return is_between(c, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO); }

bool is_joiner(char32_t c) { return c == 0x200C || c == 0x200D; }

bool is_invisible(char32_t c) { return is_between(c, UTF8PROC_CATEGORY_CC, UTF8PROC_CATEGORY_CF); }

char32_t base_letter(char32_t c) {
  if (c == kCyrillicShortI || c == kCyrillicShortU) return c;
  std::array<utf8proc_int32_t, 8> parts{};  // a canonical decomposition has at most 4 code points
  constexpr auto kOptions =
      static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE | UTF8PROC_STRIPMARK);
  const utf8proc_ssize_t count =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(),
                              static_cast<utf8proc_ssize_t>(parts.size()), kOptions, nullptr);
  return count == 1 ? static_cast<char32_t>(parts[0]) : c;
}

void append_utf8(std::string& text, char32_t c) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const utf8proc_ssize_t size =
      utf8proc_encode_char(static_cast<utf8proc_int32_t>(c), bytes.data());
  for (utf8proc_ssize_t i = 0; i < size; ++i)
    text.push_back(static_cast<char>(bytes[static_cast<std::size_t>(i)]));
}

std::u32string_view Folding::take(char32_t c) {
  folded_.clear();
  if (c == kSoftHyphen) return folded_;
  // Characters combine only within a grapheme cluster.
  const bool complete =
      !cluster_.empty() && (cluster_.size() >= kLongestCluster ||
                            utf8proc_grapheme_break(static_cast<utf8proc_int32_t>(cluster_.back()),
                                                    static_cast<utf8proc_int32_t>(c)));
  if (complete) fold();
  cluster_.push_back(c);
  return folded_;
}

std::u32string_view Folding::finish() {
  folded_.clear();
  if (!cluster_.empty()) fold();
  return folded_;
}

void Folding::fold() {
  if (cluster_.size() == 1 && cluster_[0] < 0x80) {  // fast path
    const char32_t c = cluster_[0];
    folded_.push_back(c >= U'A' && c <= U'Z' ? c + (U'a' - U'A') : c);
    cluster_.clear();
    return;
  }
  // Marks are sorted before folding: U+0345 folds to a letter, to which later marks would attach.
  bytes_.clear();
  for (const char32_t c : cluster_) append_utf8(bytes_, c);
  decompose(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE);
  bytes_.clear();
  for (const int c : points_) append_utf8(bytes_, static_cast<char32_t>(c));
  decompose(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE | UTF8PROC_CASEFOLD);
  const utf8proc_ssize_t size =
      utf8proc_normalize_utf32(points_.data(), static_cast<utf8proc_ssize_t>(points_.size()),
                               static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  if (size < 0) throw std::runtime_error(std::string("utf8proc: ") + utf8proc_errmsg(size));
  folded_.assign(points_.begin(), points_.begin() + size);
  cluster_.clear();
}

/// Decomposes `bytes_` into code points, in `points_`.
void Folding::decompose(int options) {
  points_.resize(4 * bytes_.size());
  for (;;) {
    const utf8proc_ssize_t size = utf8proc_decompose(
        reinterpret_cast<const utf8proc_uint8_t*>(bytes_.data()),
        static_cast<utf8proc_ssize_t>(bytes_.size()), points_.data(),
        static_cast<utf8proc_ssize_t>(points_.size()), static_cast<utf8proc_option_t>(options));
    if (size < 0) throw std::runtime_error(std::string("utf8proc: ") + utf8proc_errmsg(size));
    const bool fits = static_cast<std::size_t>(size) <= points_.size();
    points_.resize(static_cast<std::size_t>(size));
    if (fits) return;
  }
}

}  // namespace popflow::text
