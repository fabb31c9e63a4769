#include "dynamics/scb/bigrams.hpp"

#include <cmath>
#include <filesystem>

#include "dynamics/scb/problem_setup.hpp"
#include "popflow/error.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "support/source_folder.hpp"

using namespace popflow;
using namespace popflow::scb;
using namespace popflow::scb::test;
using Catch::Contains;
using popflow::test::ScratchFolder;

namespace {

using Labels = std::vector<std::string>;

Labels units(std::string_view text, TextUnit unit) {
  const ScratchFolder folder;
  Labels found;
  for_each_unit(folder.write("text", text), unit,
                [&](std::string_view u) { found.emplace_back(u); });
  return found;
}

std::string real_counts(const std::string& name) {
  return popflow::test::source_file("data/counts/" + name);
}

}  // namespace

TEST_CASE("A text is split into characters", "[fast][scb]") {
  const auto cut = [](std::string_view text) { return units(text, TextUnit::character); };
  CHECK(cut("Ab1") == Labels{"a", "b", "1"});
  CHECK(cut(" a \t\r\n b\n") == Labels{" ", "a", " ", "b", " "});
  CHECK(cut("\u00c4\u20ac\U0001f600") == Labels{"\u00e4", "\u20ac", "\U0001f600"});
  CHECK(cut("e\u0301E\u0301\u00c9") == Labels{"\u00e9", "\u00e9", "\u00e9"});
  CHECK(cut("\u00df\u0130") == Labels{"s", "s", "i", "\u0307"});
  CHECK(cut("a\u00ad\u200db") == Labels{"a", "\u200d", "b"});
  CHECK(cut("e\u0301 \u00ad \u0301") == Labels{"\u00e9", " ", "\u0301"});
  CHECK(cut("a\u00a0 \u2003b") == Labels{"a", " ", "b"});
  CHECK(cut("\ufeffa") == Labels{"a"});
}

TEST_CASE("A text is split into words", "[fast][scb]") {
  const auto cut = [](std::string_view text) { return units(text, TextUnit::word); };
  CHECK(cut("It's 10 o'clock--isn't it?") == Labels{"it's", "10", "o'clock", "isn't", "it"});
  CHECK(cut("Na\u00efve \u00e9t\u00e9\u2026 \u201cdon\u2019t\u201d") ==
        Labels{"na\u00efve", "\u00e9t\u00e9", "don't"});
  CHECK(cut("a_b a-b") == Labels{"a", "b", "a", "b"});
  CHECK(cut("  ,.").empty());
}

TEST_CASE("Canonically equivalent spellings are the same word", "[fast][scb]") {
  const auto cut = [](std::string_view text) { return units(text, TextUnit::word); };
  const auto same = [](std::string_view word, std::size_t times) {
    return Labels(times, std::string(word));
  };
  CHECK(cut("\u00c9t\u00e9 \u00e9t\u00e9 \u00c9T\u00c9 E\u0301te\u0301") ==
        same("\u00e9t\u00e9", 4));
  CHECK(cut("Stra\u00dfe STRASSE STRA\u1e9eE") == same("strasse", 3));
  CHECK(cut("\u039f\u0394\u039f\u03a3 \u03bf\u03b4\u03bf\u03c2") ==
        same("\u03bf\u03b4\u03bf\u03c3", 2));
  CHECK(cut("\u0401\u043b\u043a\u0430 \u0435\u0308\u043b\u043a\u0430") ==
        same("\u0451\u043b\u043a\u0430", 2));
  CHECK(cut("\u0419\u041e\u0414 \u0438\u0306\u043e\u0434") == same("\u0439\u043e\u0434", 2));
  CHECK(cut("auto\u00admobil automobil AUTO\u00adMOBIL") == same("automobil", 3));
  // Turkish case rules do not apply: the two Turkish letters i are different words here.
  CHECK(cut("\u0130z IZ \u0131z iz") == Labels{"i\u0307z", "iz", "\u0131z", "iz"});
}

TEST_CASE("Marks and joiners do not split words", "[fast][scb]") {
  const auto cut = [](std::string_view text) { return units(text, TextUnit::word); };
  CHECK(cut("x\u0301y") == Labels{"x\u0301y"});
  CHECK(cut("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645") ==
        Labels{"\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"});
  CHECK(cut("\u0915\u094d\u200d\u0937\u093f") == Labels{"\u0915\u094d\u200d\u0937\u093f"});
  // Joiners at the edges of a word have no effect.
  CHECK(cut("\u200dab\u200c cd\u200d \u200d \u0301") == Labels{"ab", "cd"});
  CHECK(cut("ab\u200b\u200dcd") == Labels{"ab", "cd"});  // a zero-width space is a boundary
  // Words may contain numbers but no symbols.
  CHECK(cut("10\u00bd x\u00b2 \u2167 a\U0001f600b \u0661\u0662") ==
        Labels{"10\u00bd", "x\u00b2", "\u2177", "a", "b", "\u0661\u0662"});
}

TEST_CASE("Invisible units have visible labels", "[fast][scb]") {
  CHECK(label_of(" ") == "\u2423");
  CHECK(label_of("\u200d") == "U+200D");
  CHECK(label_of("\x01") == "U+0001");
  CHECK(label_of("\u0085") == "U+0085");
  CHECK(label_of("a\u200db") == "a\u200db");
  CHECK(label_of("\u00e9") == "\u00e9");
}

TEST_CASE("Units across the reading buffer's boundary stay whole", "[fast][scb]") {
  std::string text(65535, 'x');
  text += "\u4e2d";  // its three bytes lie on both sides of the boundary
  text += std::string(70000, 'y');
  const bool one_word = units(text, TextUnit::word) == Labels{text};
  CHECK(one_word);
  CHECK(units(text, TextUnit::character)[65535] == "\u4e2d");
}

TEST_CASE("The message about text that is not UTF-8 names the byte", "[fast][scb]") {
  const ScratchFolder folder;
  const auto said = [&](std::string_view text) {
    const std::string path = folder.write("text", text);
    return sentence<InputError>([&] { count_text(path, TextUnit::character, std::nullopt); });
  };
  CHECK_THAT(said("ab\xff"), Contains("not valid UTF-8 at byte 2"));
  CHECK_THAT(said("\xc3\xa4\x80"), Contains("byte 2"));
  CHECK_THAT(said("a\xc0\x80"), Contains("byte 1"));         // overlong
  CHECK_THAT(said("\xe0\x80\x80"), Contains("byte 1"));      // overlong
  CHECK_THAT(said("\xed\xa0\x80"), Contains("byte 1"));      // a surrogate
  CHECK_THAT(said("\xf4\x90\x80\x80"), Contains("byte 1"));  // beyond U+10FFFF
  CHECK_THAT(said("abc\xe2\x82"), Contains("byte 3"));       // cut off
}

TEST_CASE("Bigrams of a small text have known counts", "[fast][scb]") {
  const ScratchFolder folder;
  // a b a b b c: a>b twice, b>a, b>b, b>c.
  const std::string path = folder.write("text", "aBabbc");
  const BigramCounts all = count_text(path, TextUnit::character, std::nullopt);
  CHECK(all.labels == Labels{"b", "a", "c"});
  Eigen::Matrix3d count;
  count << 1, 2, 0,  //
      1, 0, 0,       //
      1, 0, 0;
  CHECK(all.count == count);
  CHECK(count_text(path, TextUnit::character, 3).labels == all.labels);
  CHECK(count_text(path, TextUnit::character, 10).labels == all.labels);

  const BigramCounts two = count_text(path, TextUnit::character, 2);
  CHECK(two.labels == Labels{"b", other_token});
  Eigen::Matrix2d folded;
  folded << 1, 2, 2, 0;
  CHECK(two.count == folded);
}

TEST_CASE("Ties of frequency are broken by code points", "[fast][scb]") {
  const ScratchFolder folder;
  const std::string text = folder.write("text", "\u20ac z b \u00e4 a");
  CHECK(count_text(text, TextUnit::word, std::nullopt).labels == Labels{"a", "b", "z", "\u00e4"});
  CHECK(count_text(text, TextUnit::character, std::nullopt).labels ==
        Labels{"\u2423", "a", "b", "z", "\u00e4", "\u20ac"});
}

TEST_CASE("P has the normalised counts plus one", "[fast][scb]") {
  const ScratchFolder folder;
  ProblemSetup setup({{"text", folder.write("text", "aBabbc")}});
  const Problem problem = setup.make();
  Eigen::Matrix3d P;
  P << 2.0 / 6, 3.0 / 5, 1.0 / 3,  //
      2.0 / 6, 1.0 / 5, 1.0 / 3,   //
      2.0 / 6, 1.0 / 5, 1.0 / 3;
  CHECK((problem.P - P).cwiseAbs().maxCoeff() < 1e-16);
  CHECK((problem.P * problem.mu - problem.mu).cwiseAbs().maxCoeff() < 1e-15);
  CHECK(problem.labels == Labels{"b", "a", "c"});
  // a text with fewer units than the default is no error
  CHECK(setup.own().integer("vocab-size") == 3);
  CHECK(problem.Q.weight.cols() == 3);
}

TEST_CASE("The option vocab-size chooses the size of a text's vocabulary", "[fast][scb]") {
  const ScratchFolder folder;
  const std::string path = folder.write("text", "aBabbc");
  CHECK(make({{"text", path}, {"vocab-size", "2"}}).labels == Labels{"b", other_token});
  CHECK_THAT(sentence<UsageError>([&] {
               make({{"text", path}, {"vocab-size", "4"}});
             }),
             Contains("--vocab-size 4") && Contains(path) && Contains("3 different units"));
  const std::string words = folder.write("words", "the cat the dog");
  CHECK(make({{"text", words}, {"text-unit", "word"}, {"vocab-size", "3"}}).labels ==
        Labels{"the", "cat", "dog"});
}

TEST_CASE("Texts without bigrams are refused", "[fast][scb]") {
  const ScratchFolder folder;
  const auto said = [](const std::string& path, const std::string& unit = "char") {
    return sentence<InputError>([&] { make({{"text", path}, {"text-unit", unit}}); });
  };
  CHECK_THAT(said(folder.file("none")), Contains("none does not exist"));
  CHECK_THAT(said(folder.path()), Contains("is a directory"));
  CHECK_THAT(said("/dev/null"), Contains("not a regular file"));
  CHECK_THAT(said(folder.write("empty", "")), Contains("is empty"));
  CHECK_THAT(said(folder.write("one", "a")), Contains("only one character"));
  CHECK_THAT(said(folder.write("word", "abc "), "word"), Contains("only one word"));
  CHECK_THAT(said(folder.write("dots", "..."), "word"), Contains("holds no word"));
  CHECK_THAT(said(folder.write("same", "aaaa")), Contains("only one kind of unit"));
}

TEST_CASE("A table of counts is read, folded and ordered", "[fast][scb]") {
  const ScratchFolder folder;
  const std::string path = folder.write(
      "table.tsv", "# from, to, count\na\tb\t2\r\n\nb\ta\t1\nb\tb\t1\nb\tc\t1\n \t(other)\t0\n");
  // Frequencies: b 3, a 2, c 1, the space 0; (other) is always the last.
  const BigramCounts all = read_counts(path, std::nullopt);
  CHECK(all.labels == Labels{"b", "a", "c", "\u2423", other_token});
  CHECK(all.count(0, 1) == 2);
  CHECK(all.count(2, 0) == 1);
  CHECK(all.count.sum() == 5);
  const BigramCounts three = read_counts(path, 3);
  CHECK(three.labels == Labels{"b", "a", other_token});
  CHECK(three.count(2, 0) == 1);
  CHECK(three.count.sum() == 5);

  ProblemSetup setup({{"counts", path}});
  CHECK(setup.make().vocabulary() == 5);
  CHECK(setup.own().integer("vocab-size") == 5);
  CHECK(make({{"counts", path}, {"vocab-size", "3"}}).labels == three.labels);
  CHECK_THAT(sentence<UsageError>([&] {
               make({{"counts", path}, {"vocab-size", "6"}});
             }),
             Contains("5 different units"));
}

TEST_CASE("A text and the table of its bigrams give the same problem", "[fast][scb]") {
  const ScratchFolder folder;
  const std::string text = folder.write("text", "aBabbc");
  const std::string table = folder.write("table", "a\tb\t2\nb\ta\t1\nb\tb\t1\nb\tc\t1\n");
  const Problem counted = make({{"text", text}});
  const Problem read = make({{"counts", table}});
  CHECK(counted.labels == read.labels);
  CHECK(counted.P == read.P);
  CHECK(counted.mu == read.mu);
  CHECK(counted.Q.position == read.Q.position);
}

TEST_CASE("The message about a wrong table names its line", "[fast][scb]") {
  const ScratchFolder folder;
  const auto said = [&](std::string_view text) {
    const std::string path = folder.write("table", text);
    return sentence<InputError>([&] { read_counts(path, std::nullopt); });
  };
  CHECK_THAT(said("#\na\tb\t1\na\tb\n"), Contains(", line 3: must be from, to and count"));
  CHECK_THAT(said("a\tb\t1\t2\n"), Contains("line 1: must be"));
  CHECK_THAT(said("a b 1\n"), Contains("separated by tabs"));
  CHECK_THAT(said("\tb\t1\n"), Contains("line 1: a unit is empty"));
  for (const char* count : {"-1", "1.5", "x", "", "1e3", "99999999999999999999", " 1"}) {
    CHECK_THAT(said("a\tb\t" + std::string(count) + "\n"),
               Contains("line 1: count " + std::string(count) + " is not a whole number"));
  }
  CHECK_THAT(said("a\tb\t1\nb\ta\t1\na\tb\t3\n"),
             Contains("line 3: a to b was counted on line 1 already"));
  CHECK_THAT(said("a\tb\xff\t1\n"), Contains("line 1: not valid UTF-8 at its byte 3"));
  CHECK_THAT(said("# nothing\n"), Contains("holds no counts above 0"));
  CHECK_THAT(said("a\tb\t0\n"), Contains("holds no counts above 0"));
  CHECK_THAT(said("a\ta\t5\n"), Contains("only one kind of unit"));
  const auto of_path = [](const std::string& path) {
    return sentence<InputError>([&] { make({{"counts", path}}); });
  };
  CHECK_THAT(of_path(folder.file("none")), Contains("none does not exist"));
  CHECK_THAT(of_path(folder.path()), Contains("is a directory"));
}

TEST_CASE("The stored counts of the real text are complete", "[fast][scb]") {
  const BigramCounts letters = read_counts(real_counts("kjv-letters.tsv"), std::nullopt);
  CHECK(letters.labels.size() == 28);
  CHECK(letters.labels.front() == "\u2423");
  CHECK(letters.labels.back() == other_token);
  CHECK(letters.count.sum() == 4137846);
  // Every unit is left as often as it is entered, except the text's first and last unit.
  CHECK((letters.count.rowwise().sum() - letters.count.colwise().sum().transpose())
            .cwiseAbs()
            .sum() == 2);

  const BigramCounts words = read_counts(real_counts("kjv-words.tsv"), std::nullopt);
  CHECK(words.labels.size() == 100);
  CHECK(words.labels.front() == "the");
  CHECK(words.count.sum() == 789683);

  const Problem problem = make({{"counts", real_counts("kjv-letters.tsv")}});
  CHECK((problem.P * problem.mu - problem.mu).cwiseAbs().maxCoeff() < 1e-15);
  // The stationary distribution is close to the frequencies in the text.
  const Eigen::VectorXd frequency = letters.count.rowwise().sum() / letters.count.sum();
  CHECK((problem.mu - frequency).cwiseAbs().maxCoeff() < 1e-4);
}
