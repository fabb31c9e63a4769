#include "dynamics/markov/problem.hpp"

#include "dynamics/markov.hpp"
#include "dynamics/markov/letters.hpp"
#include "popflow/error.hpp"
#include "support/catch.hpp"
#include "support/hdf5_writer.hpp"
#include "support/make_system.hpp"
#include "support/markov_fixture.hpp"
#include "support/program.hpp"
#include "support/scratch_folder.hpp"
#include "text/unicode.hpp"

using namespace popflow;
using namespace popflow::markov;
using namespace popflow::markov::test;
using Catch::Contains;
using popflow::test::Hdf5Writer;
using popflow::test::ScratchFolder;

namespace {

using Words = std::vector<std::string>;

Made make_run(const Words& words) {
  return popflow::test::make_system(popflow::test::parse("markov", words), pool());
}

/// Returns p and q of the chain that these words of a command line define.
PQ chain_of(const Words& words) {
  const Made made = make_run(words);
  const Chain& chain = dynamic_cast<const Markov&>(*made.system).chain();
  CHECK(made.own.real("p") == chain.p);
  CHECK(made.own.real("q") == chain.q);
  return {chain.p, chain.q};
}

/// Returns exit code and message of the error that these words cause.
std::string complaint(const Words& words) {
  try {
    make_run(words);
  } catch (const Error& error) {
    return std::to_string(static_cast<int>(error.code())) + " " + error.what();
  }
  return "none";
}

void check_complaint(const Words& words, const Words& parts) {
  const std::string said = complaint(words);
  INFO(said);
  for (const std::string& part : parts) CHECK_THAT(said, Contains(part));
}

}  // namespace

TEST_CASE("markov: probabilities at the ends are refused", "[fast][markov]") {
  for (const std::string name : {"--p", "--q"})
    for (const std::string value : {"0", "1", "-0.1", "1.5", "nan", "1e400"})
      check_complaint({name, value}, {"2 ", name, value});
  for (const std::string name : {"--p", "--q"})
    for (const std::string value : {"0", "1"})
      check_complaint({name, value}, {name + " is " + value + "; it must be above 0 and below 1",
                                      "stops mixing or is periodic"});
  check_complaint({"--p", "1e-310"}, {"2 ", "--p", "1e-310", "at least 1e-50"});
  check_complaint({"--q", "9e-51"}, {"2 ", "--q", "9e-51", "at least 1e-50"});
  CHECK(complaint({"--p", "1e-50", "--q", "0.9999999999"}) == "none");
}

TEST_CASE("markov: starts whose square underflows, or out of bounds, are refused",
          "[fast][markov]") {
  check_complaint({"--e0", "1e-120"}, {"2 ", "--e0", "1e-120", "must be 0, or at least 1e-100"});
  check_complaint({"--w0", "-1e-200"}, {"2 ", "--w0", "-1e-200"});
  check_complaint({"--e0", "1e10"}, {"2 ", "--e0", "1e10", "1000"});
  check_complaint({"--w0", "-2000"}, {"2 ", "--w0", "-2000"});
  check_complaint({"--b0", "inf"}, {"2 ", "--b0"});
  check_complaint({"--bias", "best"}, {"2 ", "--bias", "best", "optimal", "free"});
  check_complaint({"--context-length", "1"}, {"2 ", "--context-length", "1"});
  CHECK(complaint({"--context-length", "2", "--b0", "3"}) == "none");  // b0 has no effect here
}

TEST_CASE("markov: extreme starts end with an outcome and finite values", "[fast][markov]") {
  for (const Words& start : std::vector<Words>{{"--e0", "1000", "--w0", "1000"},
                                               {"--e0", "1000", "--w0", "-1000"},
                                               {"--e0", "-1000", "--w0", "-1e-100"},
                                               {"--e0", "1e-100", "--w0", "1e-100"},
                                               {"--e0", "1e-100", "--w0", "-1000"},
                                               {"--e0", "1e-100", "--w0", "1000"}}) {
    for (const Words& chain :
         std::vector<Words>{{"--p", "0.2"}, {"--p", "0.9"}, {"--p", "1e-12"}}) {
      Words words = start;
      words.insert(words.end(), chain.begin(), chain.end());
      INFO(start[1] << " " << start[3] << ", p = " << chain[1]);
      const Made made = make_run(words);
      const auto& system = dynamic_cast<const Markov&>(*made.system);
      const double end = system.default_end();
      CHECK(std::isfinite(end));
      CHECK(end > 0);
      CHECK(std::isfinite(system.limit_point().e));
      CHECK(std::isfinite(system.limit_point().w));
      Eigen::VectorXd x(2);
      system.start({x.data(), 2});
      CHECK(rhs(system, x).allFinite());
      for (const auto& [name, value] : observe(system, x)) CHECK(std::isfinite(value));
      for (const Note& note : system.notes()) CHECK(note.text.find("nan") == std::string::npos);
      const Run run(system, end, {.method = "rosenbrock4", .max_steps = 1'000'000});
      CHECK(run.how == Outcome::Kind::reached);
      CHECK(run.outcome == word(system.limit()));
      CHECK(run.x.allFinite());
    }
  }
}

TEST_CASE("markov: p and q are frequencies of transitions in a text", "[fast][markov]") {
  const ScratchFolder folder;
  // The text is v c c v v | c v c v v c: spaces, dots and digits are skipped, also inside words.
  const std::string text = folder.write("text", "Abb eo. 7\n\n D-a!pUIz");
  const PQ found = chain_of({"--text", text});
  // 0 -> 1: b-e, d-a, p-u of the five zeros with a successor (b, b, d, p); zeros: b->b, b->e, d->a,
  // p->u; ones: a->b, e->o, o->d, a->p, u->i, i->z.
  CHECK(found.p == 3.0 / 4);
  CHECK(found.q == 4.0 / 6);

  const TransitionCounts counts = count_transitions(text, "aeiouy", std::nullopt);
  CHECK(counts.of[0][0] == 1);
  CHECK(counts.of[0][1] == 3);
  CHECK(counts.of[1][0] == 4);
  CHECK(counts.of[1][1] == 2);

  // Other classes of letters; characters of neither class are skipped.
  const TransitionCounts own = count_transitions(text, "bD", std::string("aP"));
  // a b b d a p
  CHECK(own.of[0][0] == 1);
  CHECK(own.of[0][1] == 1);
  CHECK(own.of[1][0] == 1);
  CHECK(own.of[1][1] == 2);
  // A space may be a symbol; a run of white space counts as one space.
  const TransitionCounts spaces = count_transitions(text, " ", std::nullopt);
  // The text is A b b _ e o _ _ D a p U I z. Skipping the digit makes two runs of white space meet.
  CHECK(spaces.of[0][0] == 8);
  CHECK(spaces.of[0][1] == 2);
  CHECK(spaces.of[1][0] == 2);
  CHECK(spaces.of[1][1] == 1);
}

TEST_CASE("markov: letters of other alphabets have classes", "[fast][markov]") {
  const ScratchFolder folder;
  // "ovo vv, oo" in Cyrillic.
  const std::string text =
      folder.write("text", "\u043e\u0432\u043e \u0432\u0432\u2014\u041e\u043e");
  for (const Words& ones :
       std::vector<Words>{{}, {"--text-ones", "\u043e"}, {"--text-ones", "\u041e"}}) {
    Words words = {"--text", text};
    words.insert(words.end(), ones.begin(), ones.end());
    const PQ found = chain_of(words);
    CHECK(found.p == 2.0 / 3);
    CHECK(found.q == 2.0 / 3);
  }
  const TransitionCounts counts = count_transitions(text, "\u043e", std::nullopt);
  CHECK(counts.of[0][0] == 1);
  CHECK(counts.of[0][1] == 2);
  CHECK(counts.of[1][0] == 2);
  CHECK(counts.of[1][1] == 1);
  check_complaint({"--text", text, "--text-ones", "aei"},
                  {"3 ", text, "never occurs", "'aei'", "--text-ones"});
  // The file stores which characters were ones.
  CHECK(make_run({"--text", text}).own.word("text-ones") == vowels);
}

TEST_CASE("markov: a letter with accents has its base letter's class", "[fast][markov]") {
  const ScratchFolder folder;
  std::size_t number = 0;
  /// Returns the classes of a text's characters. Each character stands between a digit of class one
  /// and one of class zero, so the transitions reveal its class.
  const auto classes = [&](std::u32string_view characters, const std::string& ones,
                           const std::optional<std::string>& zeros = std::nullopt) {
    std::string found;
    for (const char32_t c : characters) {
      std::string text = "1";
      text::append_utf8(text, c);
      const TransitionCounts counts = count_transitions(
          folder.write("text" + std::to_string(number++), text), ones + "1", zeros);
      found += counts.of[1][1] > 0 ? '1' : counts.of[1][0] > 0 ? '0' : '-';
    }
    return found;
  };
  // Latin: e acute, y diaeresis, ae, o stroke, dotless i; c cedilla, n tilde, eth, thorn.
  CHECK(classes(U"\u00e9\u00c9\u00ff\u00e6\u00d8\u0131\u00e7\u00d1\u00f0\u00fe", vowels) ==
        "1111110000");
  // Greek: the vowels with tonos, dialytika and breathing; rho with breathing, final sigma.
  CHECK(classes(U"\u03ac\u038e\u03ce\u0390\u1f04\u1fe5\u03c2", vowels) == "1111100");
  // Cyrillic: io, yi, ye, yat, hard sign's vowel; short i and short u, soft sign, zhe with breve.
  CHECK(classes(U"\u0451\u0401\u0457\u0454\u0463\u044b\u0439\u0419\u045e\u044c\u04c2", vowels) ==
        "11111100000");
  // Marks, joiners, digits and symbols have no class; letters of other alphabets are zeros.
  CHECK(classes(U"\u0301\u200d\u200c\u00ad7\u20ac\u05d0", vowels) == "------0");
  // A character in a list has the list's class, whatever its base letter.
  CHECK(classes(U"e\u00e9\u00ea\u00f6", "e", "\u00e9o") == "1010");
  CHECK(classes(U"\u0438\u0439", "\u0439") == "01");
}

TEST_CASE("markov: composed and decomposed accents give the same counts", "[fast][markov]") {
  const ScratchFolder folder;
  const auto counts = [&](const std::string& text) {
    const TransitionCounts found =
        count_transitions(folder.write("text", text), vowels, std::nullopt);
    return std::vector<std::int64_t>{found.of[0][0], found.of[0][1], found.of[1][0],
                                     found.of[1][1]};
  };
  const std::vector<std::int64_t> ete = counts("\u00e9t\u00e9 dr\u00f4le, o\u00f9?");
  // Letters e t e d r o l e o u.
  CHECK(ete == std::vector<std::int64_t>{1, 3, 3, 2});
  CHECK(counts("e\u0301te\u0301 dro\u0302le, ou\u0300?") == ete);
  CHECK(counts("\u00c9T\u00c9 DR\u00d4LE, OU\u0300?") == ete);
  CHECK(counts("\u00e9t\u00ade\u0301 dr\u00f4\u200dle, o\u00f9?") == ete);
  // Cyrillic letters with stress accents, which have no composed form: "moy dom" with "o" stressed.
  const std::vector<std::int64_t> moy = counts("\u043c\u043e\u0439 \u0434\u043e\u043c");
  CHECK(moy == std::vector<std::int64_t>{1, 2, 2, 0});
  CHECK(counts("\u041c\u043e\u0301\u0438\u0306 \u0434\u043e\u0301\u043c") == moy);
}

TEST_CASE("markov: invalid texts and classes are refused", "[fast][markov]") {
  const ScratchFolder folder;
  const std::string text = folder.write("text", "banana eel oo tt");
  const std::string alternating = folder.write("alternating", "banana");
  const std::string empty = folder.write("empty", "");
  const std::string bytes = folder.write("bytes", "ba\xFF na");
  check_complaint({"--text", folder.file("none")}, {"3 ", "none", "does not exist"});
  check_complaint({"--text", folder.path()}, {"3 ", "directory"});
  check_complaint({"--text", empty}, {"3 ", "empty"});
  check_complaint({"--text", bytes}, {"3 ", "UTF-8", "byte 2"});
  check_complaint({"--text", alternating}, {"3 ", "from zeros to zeros never occurs"});
  check_complaint({"--text", text, "--text-ones", ""}, {"2 ", "--text-ones"});
  check_complaint({"--text", text, "--text-ones", "\xFF"}, {"2 ", "--text-ones", "UTF-8"});
  check_complaint({"--text", text, "--text-zeros", "xyz"}, {"2 ", "'y'", "--text-ones"});
  check_complaint({"--text", text, "--p", "0.5"}, {"2 ", "--p 0.5 disagrees", text});
  CHECK(complaint({"--text-ones", "b"}) == "none");  // Without a text these options have no effect.
}

TEST_CASE("markov: p and q from a problem file", "[fast][markov]") {
  const ScratchFolder folder;
  const auto file = [&](const std::string& name, const std::vector<hsize_t>& shape, double p,
                        double q, const std::string& group = "") {
    const std::string path = folder.file(name);
    Hdf5Writer writer(path);
    if (!group.empty()) writer.group(group);
    const std::string at = group.empty() ? "" : group + "/";
    std::size_t size = 1;
    for (const hsize_t n : shape) size *= n;
    writer.dataset(at + "p", shape, std::vector<double>(size, p));
    writer.dataset(at + "q", shape, std::vector<double>(size, q));
    return path;
  };
  for (const std::vector<hsize_t>& shape : std::vector<std::vector<hsize_t>>{{1}, {1, 1}}) {
    const PQ found = chain_of({"--problem", file("good.h5", shape, 0.1, 0.7)});
    CHECK(found.p == 0.1);
    CHECK(found.q == 0.7);
  }
  const std::string good = file("grouped.h5", {1}, 0.1, 0.7, "problem");
  CHECK(chain_of({"--problem", good, "--p", "0.1"}).q == 0.7);
  check_complaint({"--problem", good, "--q", "0.6"}, {"2 ", "--q 0.6 disagrees", "0.7"});
  check_complaint({"--problem", good, "--text", good}, {"2 ", "--problem", "--text"});
  check_complaint({"--problem", file("two.h5", {2}, 0.1, 0.7)}, {"3 ", "two.h5", "p", "(2)"});
  check_complaint({"--problem", file("one.h5", {1}, 1, 0.7)},
                  {"3 ", "one.h5", "p is 1", "below 1"});
  check_complaint({"--problem", file("nan.h5", {1}, 0.3, NAN)}, {"3 ", "nan.h5", "q is nan"});
  const std::string half = folder.file("half.h5");
  Hdf5Writer(half).dataset("p", {1}, std::vector<double>{0.5});
  check_complaint({"--problem", half}, {"3 ", "half.h5", "no dataset q"});
  const std::string other = folder.file("other.h5");
  Hdf5Writer(other).dataset("r", {1}, std::vector<double>{0.5});
  check_complaint({"--problem", other}, {"3 ", "other.h5", "p or q"});
}

TEST_CASE("markov: a start from another run is that run's end, to all digits", "[fast][markov]") {
  if (!popflow::test::popflow_binary()) return;
  const ScratchFolder folder;
  const std::string path = folder.file("run.h5");
  REQUIRE(popflow::test::popflow({"run", "markov", "--e0", "0.6", "--w0", "-0.5", "--t-end", "3",
                                  "-o", path, "--quiet"})
              .code == 0);
  const Run expected(optimal({0.2, 0.3}, 0.6, -0.5), 3);
  const Made made = make_run({"--init-from", path, "--p", "0.7", "--q", "0.8"});
  Eigen::VectorXd start(2);
  made.system->start({start.data(), 2});
  CHECK(start[0] == Approx(expected.x[0]).epsilon(1e-6));
  CHECK(start[1] == Approx(expected.x[1]).epsilon(1e-6));
  // The file stores where the run started: a resumed run derives its scales from it.
  CHECK(made.own.real("e0") == start[0]);
  CHECK(made.own.real("w0") == start[1]);
  check_complaint({"--init-from", path, "--e0", "0.3"}, {"2 ", "--e0", "--init-from"});
  check_complaint({"--init-from", path, "--bias", "free"}, {"3 ", path, "shape"});
}
