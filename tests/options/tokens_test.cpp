// Messages of the program about valid and invalid words of a command line.

#include "options/tokens.hpp"

#include <algorithm>
#include <filesystem>

#include "popflow/version.hpp"
#include "support/catch.hpp"
#include "support/program.hpp"
#include "support/scratch_folder.hpp"

namespace popflow::test {
namespace {

using Catch::Contains;
using Catch::StartsWith;
using Args = std::vector<std::string>;

/// Checks that the words fail with this exit code and leave no file; returns the message.
std::string refused(int code, const Args& args) {
  const ScratchFolder folder;
  const Finished finished = popflow(args, {.folder = folder.path()});
  INFO(finished.err);
  CHECK(finished.code == code);
  CHECK(finished.out.empty());
  CHECK_THAT(finished.err, StartsWith("popflow: error: "));
  CHECK(std::count(finished.err.begin(), finished.err.end(), '\n') <= 5);
  CHECK_THAT(finished.err, !Contains("\033"));
  CHECK(std::filesystem::is_empty(folder.path()));
  return finished.err;
}

std::string shown(const Args& args) {
  const Finished finished = popflow(args);
  INFO(finished.err);
  CHECK(finished.code == 0);
  CHECK(finished.err.empty());
  return finished.out;
}

TEST_CASE("help and version", "[fast][cli]") {
  CHECK(shown({"--version"}) == "popflow " + std::string(version) + "\n");
  const std::string help = shown({"--help"});
  for (const char* command : {"systems", "run", "compare", "verify", "info", "resume", "merge"}) {
    CHECK_THAT(help, Contains(std::string("  ") + command + " "));
    CHECK_THAT(shown({command, "--help"}), StartsWith(std::string("popflow ") + command));
  }
  CHECK_THAT(shown({"run", "--help"}), Contains("--t-end X") && !Contains("--vocab-size"));
  CHECK_THAT(shown({"run", "scb", "--help"}), Contains("--t-end X") && Contains("--vocab-size N"));
}

TEST_CASE("pages about the systems", "[fast][cli]") {
  CHECK_THAT(shown({"systems"}), Contains("scb  "));
  const std::string page = shown({"systems", "scb"});
  for (const char* part : {"Source: Ren, Wang, Lee", "Equations", "Parameters", "State fields",
                           "Observables", "Invariants", "Events", "--vocab-size N", "at least 2",
                           "V(token_out, token_in)", "signal_V", "fast_phase_end"}) {
    CHECK_THAT(page, Contains(part));
  }
}

TEST_CASE("unknown words are refused with the nearest known one", "[fast][cli]") {
  CHECK_THAT(refused(2, {"rnu"}), Contains("'rnu'") && Contains("did you mean 'run'?"));
  CHECK_THAT(refused(2, {"run", "sbc"}), Contains("'sbc'") && Contains("did you mean 'scb'?"));
  CHECK_THAT(refused(2, {"systems", "sbc"}), Contains("'sbc'"));
  CHECK_THAT(refused(2, {"run", "scb", "--vocab-siz", "3"}),
             Contains("--vocab-siz;") && Contains("'--vocab-size'"));
  CHECK_THAT(refused(2, {"run", "scb", "--voc", "3"}), Contains("unknown option --voc"));
  CHECK_THAT(refused(2, {"run", "scb", "--method", "dopri"}),
             Contains("--method is 'dopri'") && Contains("did you mean 'dopri5'?"));
  for (const Args& args :
       {Args{}, Args{"--bogus"}, Args{""}, Args{"run"}, Args{"run", "--t-end"}, Args{"info"},
        Args{"resume"}, Args{"systems", "scb", "scb"}, Args{"sweep"}, Args{"swep", "scb"}}) {
    refused(2, args);
  }
}

TEST_CASE("common option names of other programs are answered with popflow's", "[fast][cli]") {
  const std::pair<Args, const char*> answers[] = {
      {{"--lr", "0.1"}, "--lr: the learning rate is --learning-rate"},
      {{"--epochs", "3"}, "there are no epochs; --steps or --t-end"},
      {{"--adam"}, "the training rule is --optimizer"},
      {{"--lr-schedule", "cosine"}, "is --learning-rate-schedule"},
      {{"--batch", "8"}, "--batch-size"},
      {{"--width", "8"}, "'popflow systems NAME' lists them"},
      {{"--depth", "2"}, "'popflow systems' lists the systems"},
      {{"--heads", "2"}, "one head"},
      {{"--mode", "gd"}, "--mode flow --method euler --dt ETA"},
      {{"--mode", "adam"}, "--mode sgd"},
      {{"--method", "rk45"}, "dopri5"},
      {{"--method", "LSODA"}, "rosenbrock4"},
  };
  for (const auto& [words, answer] : answers) {
    Args args = {"run", "scb"};
    args.insert(args.end(), words.begin(), words.end());
    CHECK_THAT(refused(2, args), Contains(answer) && !Contains("did you mean"));
  }
  CHECK_THAT(refused(2, {"compare", "scb", "--lr", "0.1"}), Contains("is --learning-rate"));
  CHECK_THAT(refused(2, {"sweep", "scb", "--over", "w0=1,2", "--lr", "0.1"}),
             Contains("is --learning-rate"));
  // A message names no option that the command does not have.
  CHECK_THAT(refused(2, {"compare", "scb", "--sgd"}), Contains("--rungs") && !Contains("--mode"));
  CHECK_THAT(refused(2, {"compare", "scb", "--adam"}), Contains("rule is --optimizer"));
  CHECK_THAT(refused(2, {"compare", "scb", "--solver", "rk4"}), !Contains("--method"));
  for (const char* command : {"verify", "resume", "merge", "info", "plot"}) {
    INFO(command);
    CHECK_THAT(refused(2, {command, "scb", "--lr", "0.1"}), Contains("unknown option --lr") &&
                                                                !Contains("--learning-rate") &&
                                                                !Contains("did you mean"));
    CHECK_THAT(refused(2, {command, "scb", "--adam", "0.1"}), !Contains("--optimizer"));
  }
  CHECK_THAT(refused(2, {"merge", "a.h5", "b.h5", "--out", "c.h5"}), Contains("-o FILE"));
  CHECK_THAT(refused(2, {"resume", "a.h5", "--jobs", "2"}), Contains("is --threads"));
  // An existing option has precedence over other programs' names.
  CHECK_THAT(refused(2, {"run", "scb", "--schedule", "x"}), !Contains("unknown option"));
}

TEST_CASE("refusals of impossible values name the option and the value", "[fast][cli]") {
  for (const char* value : {"-3", "0", "1e99", "abc", "1 2", "0x10", "nan", "1.5"}) {
    CHECK_THAT(refused(2, {"run", "scb", "--vocab-size", value}),
               Contains("--vocab-size is ") && Contains(value) && Contains("at least 2"));
  }
  CHECK_THAT(refused(2, {"run", "scb", "--vocab-size", ""}), Contains("--vocab-size is empty"));
  CHECK_THAT(refused(2, {"run", "scb", "--t-end", "inf"}), Contains("--t-end is inf"));
  CHECK_THAT(refused(2, {"run", "scb", "--mode", "sdf"}), Contains("--mode is 'sdf'"));
  CHECK_THAT(refused(2, {"run", "scb", "--method", "euler"}), Contains("--dt"));
}

TEST_CASE("wrong input files are distinguished from wrong words", "[fast][cli]") {
  const ScratchFolder inputs;
  const auto config = [&inputs](const std::string& text) {
    return Args{"run", "scb", "--config", inputs.write("run.cfg", text)};
  };
  CHECK_THAT(refused(3, config("vocab-siz = 3\n")),
             Contains("line 1: unknown key 'vocab-siz'") && Contains("'vocab-size'"));
  CHECK_THAT(refused(3, config("lr = 0.1\n")),
             Contains("line 1: unknown key 'lr': the learning rate is --learning-rate"));
  CHECK_THAT(refused(3, config("saves = 3\nvocab-size = -3\n")),
             Contains("line 2: vocab-size is -3") && Contains("at least 2"));
  CHECK_THAT(refused(3, config("nonsense\n")), Contains("key = value"));
  refused(3, {"run", "scb", "--config", inputs.file("missing")});
  refused(3, {"run", "scb", "--config", inputs.path()});
  for (const char* command : {"info", "resume"}) {
    refused(3, {command, inputs.file("missing")});
    refused(3, {command, inputs.path()});
    refused(3, {command, inputs.write("empty", "")});
    refused(3, {command, inputs.write("text", "not a data file\n")});
  }
}

TEST_CASE("words are quoted for a shell", "[fast][cli]") {
  CHECK(options::shell_quoted("--t-end=1e3") == "--t-end=1e3");
  CHECK(options::shell_quoted("two words") == "'two words'");
  CHECK(options::shell_quoted("it's") == "'it'\\''s'");
  CHECK(options::shell_quoted("") == "''");
}

TEST_CASE("output that can't be written is an error", "[fast][cli]") {
  const Finished finished = popflow({"--help"}, {.out = "/dev/full"});
  CHECK(finished.code == 5);
  CHECK_THAT(finished.err, StartsWith("popflow: error: standard output"));
}

}  // namespace
}  // namespace popflow::test
