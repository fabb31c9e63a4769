// If an exception of the system ends a run, the file says so, and the run can be resumed once the
// system is corrected.

#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "popflow/data_file.hpp"
#include "popflow/function_system.hpp"
#include "popflow/program.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

namespace popflow::test {
namespace {

/// System x' = -rate x whose right-hand side throws from t = 0.5 on if the rate equals `broken`.
Catalogue broken_at(double broken) {
  const FunctionSystem system = {.name = "broken",
                                 .title = "decay",
                                 .source = "a test",
                                 .equations = "x' = -rate x",
                                 .parameters = {{"rate", Kind::real, "1", "rate of the decay"}},
                                 .functions = [broken](const Parameters& own, const Setting&) {
                                   const double rate = own.real("rate");
                                   const bool fails = rate == broken;
                                   Functions f;
                                   f.state = {{"x", {1.0}, "place"}};
                                   f.rhs = [rate, fails](std::span<const double> x, double t,
                                                         std::span<double> out) {
                                     if (fails && t > 0.5)
                                       throw std::runtime_error("no rate there");
                                     out[0] = -rate * x[0];
                                   };
                                   return f;
                                 }};
  return Catalogue(std::vector<CatalogueRow>{system});
}

/// Runs the program with these systems and returns its exit code.
int program(const Catalogue& catalogue, std::vector<std::string> words) {
  words.insert(words.begin(), "popflow");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::ostringstream said;
  std::streambuf* const out = std::cout.rdbuf(said.rdbuf());
  std::streambuf* const err = std::cerr.rdbuf(said.rdbuf());
  const int code = run_program(static_cast<int>(words.size()), argv.data(), catalogue);
  std::cout.rdbuf(out);
  std::cerr.rdbuf(err);
  INFO(said.str());
  return code;
}

std::string attribute(const std::string& path, const std::string& name) {
  return DataFile(path).text_attribute("", name).value_or("none");
}

TEST_CASE("a file records the exception that ended its run, and can be resumed", "[fast][run]") {
  const ScratchFolder folder;
  const Catalogue broken = broken_at(2), sound = broken_at(0);
  const auto check = [&](const std::string& kind, const std::vector<std::string>& words,
                         const std::string& numbers) {
    INFO(kind);
    const std::string path = folder.file(kind + ".h5"), whole = folder.file(kind + "-whole.h5");
    const auto with_output = [&](const std::string& output) {
      std::vector<std::string> all = words;
      for (const char* word : {"--t-end", "1", "--quiet", "-o"}) all.emplace_back(word);
      all.push_back(output);
      return all;
    };
    CHECK(program(broken, with_output(path)) == 1);
    CHECK(attribute(path, "status") == "failed");
    CHECK_THAT(attribute(path, "status_message"),
               Catch::Contains("right-hand side at t = ") && Catch::Contains("no rate there"));
    // The records before the exception are in the file.
    if (kind == "run") CHECK(DataFile(path).read("saves_done").integers.at(0) > 1);
    CHECK(program(broken, {"info", path}) == 0);
    CHECK(program(sound, {"resume", path, "--quiet"}) == 0);
    CHECK(attribute(path, "status") == "complete");
    REQUIRE(program(sound, with_output(whole)) == 0);
    CHECK(DataFile(path).read(numbers).values == DataFile(whole).read(numbers).values);
  };
  check("run", {"run", "broken", "--rate", "2", "--saves", "5"}, "x");
  check("ensemble",
        {"run", "broken", "--rate", "2", "--saves", "5", "--mode", "sde", "--noise", "isotropic",
         "--noise-scale", "0.1", "--dt", "0.1", "--runs", "3"},
        "x");
  check("sweep", {"sweep", "broken", "--over", "rate=1,2,3", "--kernel", "scalar"}, "x");
}

}  // namespace
}  // namespace popflow::test
