#include "options/run_config.hpp"

#include <filesystem>
#include <map>
#include <set>

#include "popflow/error.hpp"
#include "popflow/systems.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

namespace popflow {
namespace {

using Catch::Contains;
using Catch::EndsWith;
using test::ScratchFolder;
using Args = std::vector<std::string>;

/// Returns a system for these tests, with a parameter of every kind.
const ParameterTable own = {
    {.name = "vocab-size",
     .kind = Kind::integer,
     .default_text = "10",
     .meaning = "number of tokens",
     .range = {.low = 2}},
    {.name = "e0", .kind = Kind::real, .default_text = "1", .meaning = "a start"},
    {.name = "attention",
     .kind = Kind::word,
     .default_text = "linear",
     .meaning = "kind of attention",
     .words = {"linear", "softmax"}},
    {.name = "text", .kind = Kind::path, .default_text = "", .meaning = "a text"},
    {.name = "text-ones",
     .kind = Kind::text,
     .default_text = "",
     .meaning = "letters",
     .where = {{.option = "text"}, {"attention", {"linear"}}}},
    {.name = "data",
     .kind = Kind::word,
     .default_text = "uniform",
     .meaning = "what is drawn",
     .words = {"uniform", "tree"},
     .where = {{.option = "problem", .absent = true}}},
    {.name = "weights", .kind = Kind::reals, .default_text = "1,2", .meaning = "weights"},
    {.name = "tied", .kind = Kind::flag, .default_text = "", .meaning = "tied weights"},
};

const SystemInfo& made_up() {
  static const SystemInfo info = [] {
    SystemInfo made;
    made.name = "made-up";
    made.parameters = own;
    return made;
  }();
  return info;
}

RunConfig parse(const Args& args) { return parse_run(made_up(), args); }

/// Returns all values of both tables as text, by name.
std::map<std::string, std::string> values(const RunConfig& config) {
  std::map<std::string, std::string> all;
  for (const auto* parameters : {&config.options, &config.own}) {
    for (const auto& row : parameters->table()) {
      if (describes_run(row.name) && parameters->has(row.name)) {
        all[row.name] = parameters->text(row.name);
      }
    }
  }
  return all;
}

TEST_CASE("words of a command line become values", "[fast][config]") {
  const RunConfig config = parse({"--e0", "-3", "--t-end=1e3", "-o", "x.h5", "--force", "--weights",
                                  "-1,2.5", "--attention", "softmax"});
  CHECK(config.system == "made-up");
  CHECK(config.own.real("e0") == -3);
  CHECK(config.options.real("t-end") == 1000);
  CHECK(config.options.word("output") == "x.h5");
  CHECK(config.options.flag("force"));
  CHECK(config.own.reals("weights") == std::vector<double>{-1, 2.5});
  CHECK(config.own.word("attention") == "softmax");
  CHECK(config.options.integer("max-steps") == 100000000);
}

TEST_CASE("all wrong words are reported together", "[fast][config]") {
  CHECK_THROWS_WITH(parse({"--vocab-size", "1", "--lr", "0.1", "--rtol", "2"}),
                    Contains("unknown option --lr") && Contains("\n--vocab-size is 1") &&
                        Contains("\n--rtol is 2"));
}

TEST_CASE("wrong words are refused, with the nearest known one", "[fast][config]") {
  CHECK_THROWS_WITH(parse({"--vocab-siz", "3"}),
                    "unknown option --vocab-siz; did you mean '--vocab-size'?");
  CHECK_THROWS_WITH(parse({"--voc", "3"}), Contains("unknown option --voc"));
  CHECK_THROWS_WITH(parse({"--vocab-size", "3", "--vocab-size=3"}),
                    "--vocab-size is given more than once");
  CHECK_THROWS_WITH(parse({"--vocab-size"}), "--vocab-size needs a value");
  CHECK_THROWS_WITH(parse({"--output", "--force"}), Contains("--output needs a value"));
  CHECK_THROWS_WITH(parse({"--force=true"}), Contains("--force") && Contains("no value"));
  CHECK_THROWS_WITH(parse({"more"}), Contains("unexpected word 'more'"));
  for (const Args& args : {Args{"-3"}, Args{"-x"}, Args{"--"}, Args{"--", "x"}, Args{""},
                           Args{"--Vocab-size", "3"}, Args{"--no-force"}, Args{"--e0", "3", "4"},
                           Args{"--vocab-size", "--force"}, Args{"--mode", "sdf"}}) {
    if (args == Args{"--"}) continue;  // ends the options, and no words follow
    CAPTURE(args.front());
    CHECK_THROWS_AS(parse(args), UsageError);
  }
}

TEST_CASE("options that exclude each other are refused", "[fast][config]") {
  CHECK_THROWS_WITH(parse({"--save-at", "1,2", "--saves", "5"}),
                    Contains("--save-at") && Contains("--saves"));
  CHECK_THROWS_AS(parse({"--save-at", "1,2", "--save-spacing", "log"}), UsageError);
  // defaults written out, as in stored configurations
  CHECK_NOTHROW(parse({"--save-at", "1,2", "--save-spacing", "linear"}));
  CHECK_THROWS_AS(parse({"--save-at", "2,1"}), UsageError);
  CHECK_THROWS_AS(parse({"--save-at", "1,1"}), UsageError);
  CHECK_THROWS_AS(parse({"--save-at", "-1,1"}), UsageError);
  CHECK_THROWS_WITH(parse({"--save-at", "1,5", "--t-end", "3"}),
                    "--save-at has the time 5; no time may be beyond --t-end, 3");
  CHECK_THROWS_WITH(parse({"--method", "rk4"}), Contains("--dt"));
  CHECK_THROWS_AS(parse({"--method", "euler"}), UsageError);
  CHECK_THROWS_AS(parse({"--quiet", "--progress", "always"}), UsageError);
  CHECK_THROWS_AS(parse({"--save-spacing", "log", "--save-first", "2", "--t-end", "1"}),
                  UsageError);
  // Options that have no effect are accepted.
  CHECK_NOTHROW(parse({"--save-first", "2", "--t-end", "1"}));
  CHECK_NOTHROW(parse({"--save-at", "1,3", "--t-end", "3"}));
  CHECK_NOTHROW(parse({"--steady-tolerance", "1e-3"}));
  CHECK_NOTHROW(parse({"--method", "rk4", "--dt", "0.1"}));
}

TEST_CASE("options without effect are reported with their condition", "[fast][config]") {
  using Sentences = std::vector<std::string>;
  const auto said = [](const Args& args) { return without_effect(parse(args)); };
  CHECK(said({}).empty());
  CHECK(said({"--batch-size", "3", "--seed", "2"}) ==
        Sentences{"without effect in mode flow with method dopri5: --batch-size, --seed"});
  CHECK(said({"--error-norm", "rms", "--method", "bulirsch_stoer"}).empty());
  CHECK(said({"--error-norm", "rms", "--method", "rk4", "--dt", "0.1"}) ==
        Sentences{"without effect in mode flow with method rk4: --error-norm"});
  CHECK(said({"--steady-tolerance", "1e-3", "--save-first", "2"}) ==
        Sentences{"without effect unless --save-spacing is log: --save-first",
                  "without effect unless --stop-when is steady or either: --steady-tolerance"});
  CHECK(said({"--steady-tolerance", "1e-3", "--stop-when", "either"}).empty());
  CHECK(said({"--mode", "sde", "--noise-scale", "2"}) ==
        Sentences{"without effect unless --noise is isotropic: --noise-scale"});
  CHECK(said({"--mode", "sde", "--noise", "isotropic", "--noise-scale", "2"}).empty());
  CHECK(said({"--mode", "sde", "--noise", "isotropic", "--noise-samples", "2"}) ==
        Sentences{"without effect unless --noise is batch or diagonal: --noise-samples"});
  // All options without effect in a mode are named in one sentence.
  CHECK(said({"--noise-scale", "2"}) ==
        Sentences{"without effect in mode flow with method dopri5: --noise-scale"});
  // Options of the system; the first unsatisfied condition is named.
  CHECK(said({"--text-ones", "a", "--attention", "softmax"}) ==
        Sentences{"without effect unless --text is given: --text-ones"});
  CHECK(said({"--text-ones", "a", "--text", "t", "--attention", "softmax"}) ==
        Sentences{"without effect unless --attention is linear: --text-ones"});
  CHECK(said({"--text-ones", "a", "--text", "t"}).empty());
  // A system's option may depend on an option that all systems have.
  CHECK(said({"--data", "tree", "--problem", "p.h5"}) ==
        Sentences{"without effect beside --problem: --data"});
  CHECK(said({"--data", "tree"}).empty());
  // A condition on an option that varies between cells counts as satisfied.
  const auto varies = [](const std::string& name) { return name == "attention"; };
  CHECK(without_effect(parse({"--text-ones", "a", "--text", "t", "--attention", "softmax"}), varies)
            .empty());
}

TEST_CASE("every condition of an option refers to existing options and words", "[fast][config]") {
  const Parameters general(run_options());
  const auto check = [&](const ParameterTable& table) {
    const Parameters all(table);
    for (const Parameter& row : table)
      for (const Condition& condition : row.where) {
        CAPTURE(row.name, condition.option);
        const Parameter* other = all.find(condition.option);
        if (other == nullptr) other = general.find(condition.option);
        REQUIRE(other != nullptr);
        if (other->kind == Kind::text) continue;  // such an option has no list of words
        for (const std::string& word : condition.words)
          CHECK(std::find(other->words.begin(), other->words.end(), word) != other->words.end());
      }
  };
  check(run_options());
  const Catalogue& catalogue = systems();
  for (const CatalogueRow& row : catalogue.rows()) check(row.info().parameters);
}

TEST_CASE("the command line overrides the configuration file, which overrides defaults",
          "[fast][config]") {
  const ScratchFolder folder;
  const std::string path = folder.write("run.cfg",
                                        "# a comment\n"
                                        "\n"
                                        "vocab-size = 20   # another\n"
                                        "  e0=-2\r\n"
                                        "text = inputs/a.txt\n"
                                        "tied = true\n"
                                        "rtol = 1e-6");
  const RunConfig config = parse({"--vocab-size", "30", "--config", path});
  CHECK(config.own.integer("vocab-size") == 30);
  CHECK(config.own.origin("vocab-size") == Origin::command_line);
  CHECK(config.own.real("e0") == -2);
  CHECK(config.own.origin("e0") == Origin::config);
  CHECK(config.own.flag("tied"));
  CHECK(config.options.real("rtol") == 1e-6);
  CHECK(config.options.real("atol") == 1e-10);
  // Paths in the file are relative to the file's folder.
  CHECK(config.own.word("text") == folder.file("inputs/a.txt"));
}

TEST_CASE("an empty configuration file changes nothing", "[fast][config]") {
  const ScratchFolder folder;
  for (const char* text : {"", "\n\n", "# nothing\n", "\xef\xbb\xbf", "   \t\r\n"}) {
    CHECK(values(parse({"--config", folder.write("empty.cfg", text)})) == values(parse({})));
  }
}

TEST_CASE("errors in a configuration file are reported", "[fast][config]") {
  const ScratchFolder folder;
  const auto parse_text = [&folder](const std::string& text) {
    return parse({"--config", folder.write("run.cfg", text)});
  };
  CHECK_THROWS_WITH(parse_text("saves = 3\nvocab-siz = 3\n"),
                    EndsWith("run.cfg, line 2: unknown key 'vocab-siz'; did you mean "
                             "'vocab-size'?"));
  CHECK_THROWS_WITH(parse_text("\nvocab-size = -3\n"),
                    EndsWith("run.cfg, line 2: vocab-size is -3; it must be a whole number, at "
                             "least 2"));
  CHECK_THROWS_WITH(parse_text("saves = 3\nsaves = 4\n"), Contains("line 2: saves is given more"));
  CHECK_THROWS_WITH(parse_text("config = other.cfg\n"), Contains("line 1") && Contains("another"));
  for (const std::string& text :
       {std::string("vocab-size\n"), std::string("[section]\nsaves = 3\n"), std::string("= 3\n"),
        std::string("vocab-size =\n"), std::string("force = yes\n"), std::string("voc = 3\n"),
        std::string("--saves = 3\n"), std::string("text = \"a\n\\q\"\n"),
        std::string("text-ones = \"a\\x2\"\n"), std::string("\0\1\2", 3),
        std::string("saves = 3\n\0", 11), std::string(std::size_t{17} << 20, '\n'),
        std::string("\x89HDF\r\n\x1a\n")}) {
    CAPTURE(text.substr(0, 40));
    CHECK_THROWS_AS(parse_text(text), InputError);
  }
  CHECK_THROWS_AS(parse({"--config", folder.file("missing.cfg")}), InputError);
  CHECK_THROWS_AS(parse({"--config", folder.path()}), InputError);
  CHECK_THROWS_AS(parse({"--config", ""}), UsageError);
}

TEST_CASE("the text of a configuration reproduces the run", "[fast][config]") {
  const Args plain = {};
  const Args many = {"--e0",
                     "0.1",
                     "--rtol",
                     "3.3e-7",
                     "--save-at",
                     "0.1,1e-300,2",
                     "--problem",
                     "some where/a#b \"c\"\\.h5",
                     "--text-ones",
                     " aeiou#\"\\ ",
                     "--tied",
                     "--weights",
                     "0.30000000000000004,-1e22",
                     "--stop-when",
                     "steady"};
  Args ordered = many;
  ordered[5] = "1e-300,0.1,2";
  for (const Args& args : {plain, ordered}) {
    RunConfig config = parse(args);
    config.options.resolve("t-end", 123.456);
    config.options.resolve("state", std::string("ends"));
    const std::string text = config_text(config);
    CAPTURE(text);
    const RunConfig again = from_config_text(made_up(), text, "x.h5");
    CHECK(config_text(again) == text);
    auto expected = values(config);
    if (expected.count("problem") != 0) {
      expected["problem"] = std::filesystem::absolute(expected["problem"]).string();
    }
    CHECK(values(again) == expected);

    // Read the options from a file and add one on the command line.
    const ScratchFolder folder;
    const RunConfig read = parse({"--config", folder.write("run.cfg", text), "--quiet"});
    CHECK(config_text(read) == text);
  }
}

TEST_CASE("defaults written in a stored configuration cause no conflict", "[fast][config]") {
  // The text contains the defaults of saves and save-spacing together with save-at.
  const std::string text = config_text(parse({"--save-at", "1,2"}));
  CHECK_THAT(text, Contains("saves = 201") && Contains("save-at = 1,2"));
  const ScratchFolder folder;
  CHECK_NOTHROW(parse({"--config", folder.write("run.cfg", text)}));
}

TEST_CASE("the option figure names only observables of the system", "[fast][config]") {
  CHECK_NOTHROW(parse({"--figure", "weights; e0 over tied"}));
  CHECK_THROWS_WITH(parse({"--figure", "e0; wieghts"}),
                    "--figure shows 'wieghts', which made-up does not have; did you mean "
                    "'weights'?");
  CHECK_THROWS_WITH(parse({"--figure", ";"}), Contains("is empty"));
  const ScratchFolder folder;
  CHECK_THROWS_AS(parse({"--config", folder.write("run.cfg", "figure = los\n")}), InputError);
}

TEST_CASE("a stored configuration holds only options that describe the run", "[fast][config]") {
  const ScratchFolder folder;
  const std::string text =
      config_text(parse({"-o", "x.h5", "--force", "--quiet", "--dry-run", "--progress", "never",
                         "--config", folder.write("run.cfg", "saves = 3\n")}));
  for (const char* key : {"output", "force", "quiet", "dry-run", "progress", "config"}) {
    CHECK_THAT(text, !Contains(key));
  }
  CHECK_THAT(text, Contains("saves = 3\n"));
}

TEST_CASE("no option of a system has the name of an option of run", "[fast][config]") {
  for (const auto& row : systems().rows()) {
    std::set<std::string> names;
    for (const auto* table : {&run_options(), &row.info().parameters}) {
      for (const auto& parameter : *table) {
        CAPTURE(row.info().name, parameter.name);
        CHECK(names.insert(parameter.name).second);
        CHECK_FALSE(parameter.meaning.empty());
      }
    }
    CHECK_NOTHROW(Parameters(row.info().parameters));
  }
}

}  // namespace
}  // namespace popflow
