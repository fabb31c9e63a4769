#include "text/unicode.hpp"

#include "support/catch.hpp"

#include <algorithm>

namespace popflow::text {
namespace {

std::string folded(std::u32string_view text) {
  Folding folding;
  std::string result;
  for (const char32_t c : text)
    for (const char32_t own : folding.take(c)) append_utf8(result, own);
  for (const char32_t own : folding.finish()) append_utf8(result, own);
  return result;
}

TEST_CASE("Canonically equivalent texts fold to the same text", "[text][fast]") {
  CHECK(folded(U"\u00e9") == "\u00e9");
  CHECK(folded(U"e\u0301") == "\u00e9");
  CHECK(folded(U"E\u0301") == "\u00e9");
  CHECK(folded(U"\u212b") == "\u00e5");              // angstrom sign
  CHECK(folded(U"\u1100\u1161\u11a8") == "\uac01");  // Hangul syllable from its letters
  // vowel sign from two parts that are no ordered marks
  CHECK(folded(U"\u09c7\u09be") == "\u09cb");
  CHECK(folded(U"a\u0301\u0323") == "\u1ea1\u0301");  // marks get their canonical order
  CHECK(folded(U"a\u0323\u0301") == "\u1ea1\u0301");
  CHECK(folded(U"x\u0301") == "x\u0301");            // there is no composed form
  CHECK(folded(U"\u0915\u093c") == "\u0915\u093c");  // Unicode excludes the composed form
  CHECK(folded(U"\u0958") == "\u0915\u093c");
}

TEST_CASE("Case is folded in all alphabets and in full", "[text][fast]") {
  CHECK(folded(U"\u00c9T\u00c9 \u00c9t\u00e9") == "\u00e9t\u00e9 \u00e9t\u00e9");
  CHECK(folded(U"STRASSE Stra\u00dfe STRA\u1e9eE") == "strasse strasse strasse");
  CHECK(folded(U"\u03a3\u03c3\u03c2") == "\u03c3\u03c3\u03c3");
  CHECK(folded(U"\u0419\u0401\u042f") == "\u0439\u0451\u044f");
  CHECK(folded(U"\ufb01") == "fi");
  // Turkish: capital I folds as in other languages, and dotted capital I keeps its dot as a mark.
  CHECK(folded(U"I\u0131\u0130") == "i\u0131i\u0307");
  CHECK(folded(U"I\u0307") == "i\u0307");
  // An iota below a vowel folds to a letter, and the accent stays with the vowel in any order of
  // the marks.
  CHECK(folded(U"\u1fb4") == "\u03ac\u03b9");
  CHECK(folded(U"\u03b1\u0345\u0301") == "\u03ac\u03b9");
  CHECK(folded(U"\u0391\u0301\u0345") == "\u03ac\u03b9");
}

TEST_CASE("Soft hyphens are dropped and joiners are kept", "[text][fast]") {
  CHECK(folded(U"co\u00adop") == "coop");
  CHECK(folded(U"e\u00ad\u0301") == "\u00e9");
  CHECK(folded(U"\u00ad").empty());
  CHECK(folded(U"a\u200cb\u200dc") == "a\u200cb\u200dc");
}

TEST_CASE("A very long run of marks is folded in pieces", "[text][fast]") {
  std::u32string text = U"e";
  for (int i = 0; i < 100'000; ++i) text += i % 2 == 0 ? U"\u0301" : U"\u0323";
  const std::string found = folded(text);
  CHECK(found.starts_with("\u1eb9\u0323"));  // dots below come first in each piece
  // Each mark has two bytes; one dot below is part of the composed letter of three bytes.
  CHECK(found.size() == 3 + 2 * (100'000 - 1));
}

TEST_CASE("Characters have their Unicode classes", "[text][fast]") {
  for (const char32_t c : U"az\u00e9\u03c3\u0439\u4e2d\u05d0\u0915\u00aa") {
    if (c == 0) break;
    CAPTURE(static_cast<unsigned>(c));
    CHECK(is_letter(c));
    CHECK_FALSE((is_mark(c) || is_number(c) || is_space(c) || is_invisible(c)));
  }
  for (const char32_t c : {0x301u, 0x93fu, 0x20ddu, 0xfe0fu}) CHECK(is_mark(c));
  for (const char32_t c : {0x30u, 0x661u, 0xbdu, 0x2167u}) CHECK(is_number(c));
  for (const char32_t c : {0x9u, 0xau, 0xbu, 0xcu, 0xdu, 0x20u, 0x85u, 0xa0u, 0x1680u, 0x2000u,
                           0x200au, 0x2028u, 0x2029u, 0x202fu, 0x205fu, 0x3000u})
    CHECK(is_space(c));
  for (const char32_t c : {0x8u, 0xeu, 0x84u, 0x86u, 0x200bu, 0x2060u, 0xfeffu, 0x180eu})
    CHECK_FALSE(is_space(c));
  for (const char32_t c : {0x0u, 0x7fu, 0x200du, 0xadu}) CHECK(is_invisible(c));
  for (const char32_t c : {0x2du, 0x5fu, 0xb7u, 0x1f600u, 0x20acu})
    CHECK_FALSE((is_letter(c) || is_mark(c) || is_number(c) || is_space(c)));
}

TEST_CASE("The base of a letter is the letter without its marks", "[text][fast]") {
  CHECK(base_letter(0xe9) == U'e');
  CHECK(base_letter(0x1ec7) == U'e');    // Vietnamese, with two marks
  CHECK(base_letter(0x451) == 0x435);    // Cyrillic io
  CHECK(base_letter(0x457) == 0x456);    // Ukrainian yi
  CHECK(base_letter(0x3ac) == 0x3b1);    // Greek alpha with tonos
  CHECK(base_letter(0x439) == 0x439);    // Cyrillic short i, a consonant
  CHECK(base_letter(0x45e) == 0x45e);    // Cyrillic short u, a consonant
  CHECK(base_letter(0xac01) == 0xac01);  // a Hangul syllable is not a letter with marks
  CHECK(base_letter(0xf8) == 0xf8);      // o with stroke has no decomposition
  CHECK(base_letter(U'q') == U'q');
}

}  // namespace
}  // namespace popflow::text
