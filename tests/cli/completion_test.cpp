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

}  // namespace
}  // namespace popflow
