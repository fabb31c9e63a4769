// Runs the program from its command line to its files.

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "popflow/data_file.hpp"
#include "support/catch.hpp"
#include "support/program.hpp"
#include "support/scratch_folder.hpp"

namespace popflow::test {
namespace {

using Catch::Contains;
using Args = std::vector<std::string>;

const Args kSmall = {"run",     "scb", "--vocab-size", "4", "--context-length", "12",
                     "--saves", "5",   "--t-end",      "8"};

Args with(Args args, const Args& more) {
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

/// Runs the program in `folder` and returns its standard output.
std::string done(const ScratchFolder& folder, const Args& args, int code = 0) {
  const Finished finished = popflow(args, {.folder = folder.path()});
  INFO(finished.err);
  REQUIRE(finished.code == code);
  return finished.out;
}

/// Checks that the program refuses in at most five lines and leaves no new file; returns its
/// message.
std::string refused(const ScratchFolder& folder, int code, const Args& args) {
  const auto count = [&] {
    return std::distance(std::filesystem::directory_iterator(folder.path()), {});
  };
  const auto before = count();
  const Finished finished = popflow(args, {.folder = folder.path()});
  INFO(finished.err);
  CHECK(finished.code == code);
  CHECK_THAT(finished.err, Contains("popflow: error: "));
  CHECK(std::count(finished.err.begin(), finished.err.end(), '\n') <= 5);
  CHECK(count() == before);
  return finished.err;
}

TEST_CASE("a run is written, shown and printed", "[fast][cli]") {
  const ScratchFolder folder;
  const std::string summary = done(folder, kSmall);
  CHECK_THAT(summary, Contains("complete") && Contains("scb-flow.h5") && Contains("loss"));
  const DataFile file(folder.file("scb-flow.h5"));
  CHECK(file.text_attribute("", "status") == "complete");
  CHECK(file.read("saves_done").integers[0] == 5);
  CHECK(file.read("time").values == std::vector<double>{0, 2, 4, 6, 8});
  CHECK(file.shape("V") == std::vector<std::size_t>{5, 4, 4});
  CHECK(file.shape("A") == std::vector<std::size_t>{5, 12, 4});

  CHECK_THAT(done(folder, {"info", "scb-flow.h5"}), Contains("complete") && Contains("history"));
  std::istringstream table(done(folder, {"info", "scb-flow.h5", "--csv"}));
  std::string line;
  std::getline(table, line);
  CHECK_THAT(line, Catch::StartsWith("time,loss,excess_loss,"));
  const std::vector<double> losses = file.read("loss").values;
  for (std::size_t save = 0; save < 5; ++save) {
    std::getline(table, line);
    std::istringstream row(line);
    std::string cell;
    std::getline(row, cell, ',');
    CHECK(std::stod(cell) == 2.0 * static_cast<double>(save));
    std::getline(row, cell, ',');
    CHECK(std::stod(cell) == losses[save]);
  }
  CHECK_FALSE(std::getline(table, line));
}

TEST_CASE("verify shows a table and leaves no file", "[fast][cli]") {
  const ScratchFolder folder;
  const std::string table = done(folder, {"verify", "markov"});
  CHECK_THAT(table, Contains("check") && Contains("measured") && Contains("allowed"));
  for (const char* name : {"observables", "gradient", "Jacobian", "mean of samples", "covariance",
                           "invariant energy", "threads", "resuming", "problem file"})
    CHECK_THAT(table, Contains(name));
  CHECK_THAT(table, Contains(" 0 fail"));
  CHECK(std::filesystem::is_empty(folder.path()));
  CHECK(done(folder, {"verify", "markov", "--quiet"}).empty());
  CHECK_THAT(done(folder, {"verify", "--help"}), Contains("--thorough"));

  CHECK_THAT(refused(folder, 2, {"verify", "markov", "--thorouhg"}), Contains("--thorough"));
  CHECK_THAT(refused(folder, 2, {"verify", "markov", "--output", "x.h5"}), Contains("--output"));
  CHECK_THAT(refused(folder, 2, {"verify"}), Contains("name of a system"));
  CHECK_THAT(refused(folder, 2, {"verify", "marcov"}), Contains("markov"));
  // `verify` ignores options of a run's configuration that do not define the problem.
  const std::string config =
      folder.write("run.cfg", "p = 0.7\nsaves = 7\noutput = x.h5\nmethod = rk4\ndt = 0.1\n");
  CHECK_THAT(done(folder, {"verify", "markov", "--config", config}), Contains(" 0 fail"));
}

TEST_CASE("help begins with what one needs", "[fast][cli]") {
  const ScratchFolder folder;
  const std::string first = done(folder, {"--help"});
  CHECK(std::count(first.begin(), first.end(), '\n') <= 24);  // one screen
  for (const char* part : {"scb, ", "markov", "Examples", "popflow run scb --plot", "sweep NAME"})
    CHECK_THAT(first, Contains(part));
  for (const std::string command : {"run", "compare", "sweep", "verify"}) {
    CAPTURE(command);
    const std::string page = done(folder, {command, "scb", "--help"});
    CHECK_THAT(page, !Contains("\nOthers\n"));  // every option answers a question
    if (command == "verify") continue;
    const std::size_t own = page.find("Parameters of scb");
    for (const char* option : {"-o, --output", "--runs ", "--t-end ", "--plot", "--config "})
      CHECK(page.find(option) < own);
    CHECK(page.find("--rtol") > own);
    std::size_t line = 0;
    for (std::size_t at = 0; at < page.size(); at = page.find('\n', at) + 1) {
      line = std::max(line, page.find('\n', at) - at);
      if (page.find('\n', at) == std::string::npos) break;
    }
    CHECK(line <= 90);
  }
}

TEST_CASE("an existing output file is kept", "[fast][cli]") {
  const ScratchFolder folder;
  done(folder, with(kSmall, {"--quiet"}));
  CHECK_THAT(refused(folder, 2, kSmall), Contains("--force"));
  CHECK(DataFile(folder.file("scb-flow.h5")).read("time").values.back() == 8);
  done(folder, with(kSmall, {"--force", "--save-at", "1"}), 2);  // excludes --saves
  CHECK(DataFile(folder.file("scb-flow.h5")).read("time").values.size() == 5);
  done(folder, with(kSmall, {"--force", "--project", "none"}));
}

TEST_CASE("a quiet run prints nothing, and a dry run writes no file", "[fast][cli]") {
  const ScratchFolder folder;
  const Finished quiet =
      popflow(with(kSmall, {"--quiet", "-o", "q.h5"}), {.folder = folder.path()});
  CHECK(quiet.code == 0);
  CHECK(quiet.out.empty());
  CHECK(quiet.err.empty());
  const std::string plan = done(folder, with(kSmall, {"--dry-run"}));
  CHECK_THAT(plan, Contains("memory") && Contains("file") && Contains("vocab-size = 4"));
  CHECK_FALSE(std::filesystem::exists(folder.file("scb-flow.h5")));
}

TEST_CASE("a finished run is left alone, and can be extended", "[fast][cli]") {
  const ScratchFolder folder;
  done(folder, with(kSmall, {"-o", "a.h5"}));
  const Finished again = popflow({"resume", "a.h5"}, {.folder = folder.path()});
  CHECK(again.code == 0);
  CHECK_THAT(again.err, Contains("finished"));
  CHECK_THAT(refused(folder, 2, {"resume", "a.h5", "--t-end", "3"}), Contains("--t-end is 3"));
  done(folder, {"resume", "a.h5", "--t-end", "12"});
  Args longer = with(kSmall, {"-o", "b.h5"});
  longer[7] = "7";
  longer[9] = "12";
  done(folder, longer);
  const DataFile a(folder.file("a.h5"));
  const DataFile b(folder.file("b.h5"));
  for (const char* name : {"time", "V", "A", "loss", "statistics/steps"})
    CHECK(a.read(name).values == b.read(name).values);
  CHECK(a.text_attribute("parameters", "config") == b.text_attribute("parameters", "config"));
}

TEST_CASE("success, failures and refusals have their own exit codes", "[fast][cli]") {
  const ScratchFolder folder;
  const auto status = [&](const Args& more, int code) {
    done(folder, with(kSmall, with({"--force"}, more)), code);
    return *DataFile(folder.file("scb-flow.h5")).text_attribute("", "status");
  };
  CHECK(status({}, 0) == "complete");
  CHECK(status({"--max-steps", "4"}, 6) == "step_limit");
  Args longer = with(kSmall, {"--force", "--method", "euler", "--dt", "60"});
  longer[9] = "9000";
  done(folder, longer, 4);
  const DataFile diverged(folder.file("scb-flow.h5"));
  CHECK(diverged.text_attribute("", "status") == "diverged");
  CHECK(std::isfinite(*diverged.number_attribute("", "diverged_at")));
  longer = with(kSmall, {"--force", "--stop-when", "steady", "--steady-tolerance", "1e-3"});
  longer[9] = "9000";
  done(folder, longer);
  CHECK(DataFile(folder.file("scb-flow.h5")).text_attribute("", "status") == "steady");
}

TEST_CASE("a message names sizes that exceed the machine's memory", "[fast][cli]") {
  const ScratchFolder folder;
  const auto said = [&](const Args& more) {
    return refused(folder, 2, with({"run", "scb"}, more));
  };
  CHECK_THAT(said({"--vocab-size", "1e9"}),
             Contains("--vocab-size 1000000000") && Contains("memory"));
  CHECK_THAT(said({"--vocab-size", "9e15", "--context-length", "9e15"}), Contains("memory"));
  CHECK_THAT(said({"--saves", "1e12"}), Contains("disk") || Contains("memory"));
  CHECK_THAT(said({"--context-length", "3", "--sparsity", "4"}), Contains("--sparsity"));
}

TEST_CASE("a missing folder is an output error", "[fast][cli]") {
  const ScratchFolder folder;
  CHECK_THAT(refused(folder, 5, with(kSmall, {"-o", "no/where.h5"})), Contains("no/where.h5"));
  refused(folder, 5, with(kSmall, {"-o", std::string(300, 'x')}));
}

}  // namespace
}  // namespace popflow::test
