#include "cli/completion.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "popflow/systems.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

namespace popflow {
namespace {

using Catch::Contains;
using test::ScratchFolder;

/// Returns the completions that bash offers for the last word, separated by blanks.
std::string offered(const std::string& words) {
  const ScratchFolder folder;
  std::ofstream(folder.file("completion")) << cli::bash_completion(systems());
  std::ofstream(folder.file("ask"))
      << "source " << folder.file("completion")
      << "\ncompopt() { :; }  # there is no completion to set an option of\nCOMP_WORDS=(" << words
      << ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_popflow\n"
         "echo \" ${COMPREPLY[*]} \"\n";
  const std::string answer = folder.file("answer");
  REQUIRE(std::system(("bash " + folder.file("ask") + " > " + answer).c_str()) == 0);
  std::ifstream file(answer);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("the completion knows a system's options in every command that takes them",
          "[fast][cli]") {
  for (const std::string command : {"run", "compare", "sweep", "verify"}) {
    CAPTURE(command);
    CHECK_THAT(offered("popflow " + command + " scb --vocab"), Contains(" --vocab-size "));
    CHECK_THAT(offered("popflow " + command + " markov --vocab"), !Contains("--vocab-size"));
  }
  CHECK_THAT(offered("popflow sweep scb --ov"), Contains(" --over "));
  CHECK_THAT(offered("popflow systems scb --"), Contains("--json") && !Contains("--vocab-size"));
}

TEST_CASE("the completion knows the experiments by name", "[fast][cli]") {
  for (const std::string command : {"run", "run scb", "compare", "sweep --force"}) {
    CAPTURE(command);
    CHECK_THAT(offered("popflow " + command + " --config scb-l"),
               Contains(" scb-ladder ") && !Contains("markov"));
  }
  CHECK_THAT(offered("popflow experiments markov-"), Contains(" markov-basins "));
  CHECK_THAT(offered("popflow systems markov-"), !Contains("markov-basins"));
  CHECK_THAT(offered("popflow run --config /us"), Contains(" /usr "));
}

TEST_CASE("the completion knows the axes of a sweep and the observables", "[fast][cli]") {
  CHECK_THAT(offered("popflow sweep markov --over e"), Contains(" e0= ") && !Contains("vocab"));
  CHECK_THAT(offered("popflow sweep scb --over voc"), Contains(" vocab-size= "));
  CHECK_THAT(offered("popflow sweep scb --over learn"), Contains(" learning-rate= "));
  CHECK_THAT(offered("popflow run markov --record-observables prob"),
             Contains(" prob_0to1 ") && !Contains("signal_V"));
  CHECK_THAT(offered("popflow plot x.h5 --observable sig"), Contains(" signal_V "));
}

/// Returns what a shell says about a line in which `ask` completes words; empty without the shell.
std::string said_by(const std::string& shell, const std::string& completion,
                    const std::string& ask) {
  if (std::system(("command -v " + shell + " > /dev/null").c_str()) != 0) return "";
  const ScratchFolder folder;
  std::ofstream(folder.file("completion")) << completion;
  std::ofstream(folder.file("ask")) << ask;
  const std::string answer = folder.file("answer");
  const std::string line = "cd " + folder.path() + " && " + shell + " ask > " + answer + " 2>&1";
  REQUIRE(std::system(line.c_str()) == 0);
  std::ifstream file(answer);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("fish completes commands, systems, options, words, axes and observables", "[fast][cli]") {
  const std::string said = said_by("fish", cli::fish_completion(systems()), R"(
source completion
for line in 'popflow ru' 'popflow run sc' 'popflow run scb --voc' 'popflow run scb --mode s' \
    'popflow sweep markov --over e' 'popflow plot x.h5 --observable sig' 'popflow experiments markov-b'
  complete -C $line
end
)");
  if (said.empty()) return;
  for (const char* word :
       {"run\t", "scb\t", "--vocab-size\t", "sgd\t", "e0=", "signal_V", "markov-basins"})
    CHECK_THAT(said, Contains(word));
  CHECK_THAT(said, !Contains("unknown") && !Contains("Error"));
}

TEST_CASE("zsh completes commands, systems, options, words, axes and observables", "[fast][cli]") {
  const std::string said = said_by("zsh", cli::zsh_completion(systems()), R"(
_describe() { print -l -- ${(P)@[-1]} }
compadd() { print -l -- "$@" }
_files() { print FILES }
ask() { words=("$@"); CURRENT=$#; source ./completion }
ask popflow ru
ask popflow run sc
ask popflow run scb --voc
ask popflow run scb --mode s
ask popflow sweep markov --over e
ask popflow plot x.h5 --observable sig
ask popflow experiments markov-b
ask popflow info x
)");
  if (said.empty()) return;
  for (const char* word : {"run:run one", "scb:Sparse", "--vocab-size:", "\nsgd\n", "\ne0=\n",
                           "\nsignal_V\n", "\nmarkov-basins\n", "FILES"})
    CHECK_THAT(said, Contains(word));
  CHECK_THAT(said, !Contains("not found") && !Contains("parse error"));
}

}  // namespace
}  // namespace popflow
