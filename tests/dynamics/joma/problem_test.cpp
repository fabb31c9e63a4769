#include <cmath>

#include "popflow/error.hpp"
#include "support/catch.hpp"
#include "support/hdf5_writer.hpp"
#include "support/joma_reference.hpp"
#include "support/monte_carlo.hpp"
#include "support/program.hpp"
#include "support/scratch_folder.hpp"

// Sources of drives, targets and starts, and refused options.

using namespace popflow;
using namespace popflow::joma;
using namespace popflow::joma::test;
using popflow::test::Finished;
using popflow::test::Hdf5Writer;
using popflow::test::SampleMean;
using popflow::test::ScratchFolder;

TEST_CASE("The tree's probabilities agree with sampled trees", "[fast][joma]") {
  // 200 000 trees. Each of the 2 x 8 probabilities lies within 5 standard errors (with another seed
  // one of them fails with probability 1e-5); the probability of a leaf with itself is exactly 1.
  const int depth = 3;
  for (const double rho : {0.7, -0.5}) {
    const Matrix exact = tree_probabilities(3, depth, rho);
    RandomStream random(5, Purpose::test);
    for (const Eigen::Index query : {0, 2}) {
      Eigen::VectorXd both = Eigen::VectorXd::Zero(8);
      double ones = 0;
      for (int i = 0; i < 200'000; ++i) {
        const std::vector<bool> leaves = draw_leaves(depth, rho, random);
        if (!leaves[static_cast<std::size_t>(query)]) continue;
        ++ones;
        for (Eigen::Index l = 0; l < 8; ++l) both[l] += leaves[static_cast<std::size_t>(l)] ? 1 : 0;
      }
      CHECK(std::abs(ones / 200'000 - 0.5) < 5 * 0.5 / std::sqrt(200'000));
      for (Eigen::Index l = 0; l < 8; ++l) {
        INFO("rho " << rho << " query " << query << " leaf " << l);
        const double p = exact(query, l);
        CHECK(std::abs(both[l] / ones - p) <= 5 * std::sqrt(p * (1 - p) / ones));
      }
      CHECK(exact(query, query) == 1);
    }
  }
  CHECK(tree_probabilities(1, 0, 0.3)(0, 0) == 1);
  // The sibling comes first, then cousins: (1 + rho^2)/2, (1 + rho^4)/2 twice, ...
  const Matrix row = tree_probabilities(1, 3, 0.5);
  CHECK(row(0, 1) == 0.5 * (1 + 0.25));
  CHECK(row(0, 2) == 0.5 * (1 + 0.0625));
  CHECK(row(0, 3) == row(0, 2));
  CHECK(row(0, 7) == 0.5 * (1 + 0.015625));
}

TEST_CASE("Drawn numbers lie in their interval, and don't depend on their number", "[fast][joma]") {
  const Matrix few = draw_uniform(2, 10, -1, 3, 4);
  const Matrix many = draw_uniform(3, 1000, -1, 3, 4);
  CHECK(many.topLeftCorner(2, 10) == few);
  CHECK(few.row(0) != few.row(1));
  CHECK(draw_uniform(2, 10, -1, 3, 5) != few);
  CHECK(many.minCoeff() > -1);
  CHECK(many.maxCoeff() < 3);
  // The mean of 3000 numbers lies within 5 standard errors, 4/sqrt(12 * 3000) each.
  CHECK(std::abs(many.mean() - 1) < 5 * 4 / std::sqrt(36'000.0));
  CHECK(draw_uniform(1, 3, 2, 2, 1) == Matrix::Constant(1, 3, 2));
}

TEST_CASE("A problem file declares its contents: drive or target, one node or several, and a start",
          "[fast][joma]") {
  const ScratchFolder folder;
  const std::string path = folder.file("problem.h5");
  SECTION("targets of one node") {
    Hdf5Writer(path).dataset("target", {3}, std::vector<double>{1, 2, 3});
    const Case made({"--problem", path});
    CHECK(made.flow.target);
    CHECK(made.flow.goal == Eigen::RowVector3d(1, 2, 3));
    CHECK(made.config.own.word("activation") == "nonlinear");
    CHECK(made.config.own.integer("tokens") == 3);
    CHECK(made.config.own.integer("nodes") == 1);
    CHECK(made.v(made.start()) == Eigen::RowVector3d::Constant(0.05));
    CHECK_NOTHROW(Case({"--problem", path, "--tokens", "3", "--activation", "nonlinear"}));
    CHECK_NOTHROW(Case({"--problem", path, "--init", "0.3"}));
  }
  SECTION("drives of two nodes with a start") {
    {
      Hdf5Writer writer(path);
      writer.dataset("drive", {2, 3}, std::vector<double>{1, 2, 3, -4, 5, 6});
      writer.dataset("v0", {2, 3}, std::vector<double>{0.1, 0.2, 0.3, 0.4, 0.5, 0.6});
    }
    for (const char* coordinates : {"full", "reduced"}) {
      const Case made({"--problem", path, "--coordinates", coordinates});
      CHECK_FALSE(made.flow.target);
      CHECK(made.flow.goal(1, 0) == -4);
      CHECK(made.v(made.start())(1, 2) == 0.6);
      CHECK_FALSE(made.config.own.has("init"));
    }
    CHECK_THROWS_WITH(Case({"--problem", path, "--init", "0.1"}),
                      Catch::Contains("--init 0.1") && Catch::Contains("v0"));
  }
  SECTION("a start that is the same everywhere agrees with --init") {
    {
      Hdf5Writer writer(path);
      writer.dataset("drive", {2}, std::vector<double>{1, 2});
      writer.dataset("v0", {1, 2}, std::vector<double>{0.1, 0.1});
    }
    CHECK_NOTHROW(Case({"--problem", path, "--init", "0.1"}));
  }
}

TEST_CASE("Errors in a problem file are named", "[fast][joma]") {
  struct Wrong {
    std::string name;
    std::vector<hsize_t> shape;
    std::vector<double> values;
    std::vector<std::string> says;
  };
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<Wrong> all = {
      {"target", {2}, {1, NAN}, {"target[1] is nan", "finite"}},
      {"drive", {2, 2}, {1, 2, inf, 4}, {"drive[1,0] is inf", "finite"}},
      {"drive", {2}, {1, 1e60}, {"drive[1] is 1e+60", "1e+50"}},
      {"target", {2, 1, 1}, {1, 2}, {"target has shape (2, 1, 1)", "(node, token)"}},
      {"target", {0}, {}, {"target has shape (0)"}},
      {"other", {1}, {1}, {"no dataset target or drive"}},
  };
  for (const Wrong& wrong : all) {
    const ScratchFolder folder;
    const std::string path = folder.file("problem.h5");
    Hdf5Writer(path).dataset(wrong.name, wrong.shape, wrong.values);
    try {
      const Case made({"--problem", path});
      FAIL(wrong.says[0]);
    } catch (const InputError& error) {
      for (const std::string& part : wrong.says)
        CHECK_THAT(error.what(), Catch::Contains(part) && Catch::Contains(path));
    }
  }
  const ScratchFolder folder;
  const std::string path = folder.file("problem.h5");
  {
    Hdf5Writer writer(path);
    writer.dataset("target", {2}, std::vector<double>{1, 2});
    writer.dataset("v0", {2, 1}, std::vector<double>{1, 2});
  }
  CHECK_THROWS_WITH(Case({"--problem", path}),
                    Catch::Contains("v0 has shape (2, 1); it must be (1, 2)"));
  const std::string both = folder.file("both.h5");
  {
    Hdf5Writer writer(both);
    writer.dataset("target", {1}, std::vector<double>{1});
    writer.dataset("drive", {1}, std::vector<double>{1});
  }
  CHECK_THROWS_WITH(Case({"--problem", both}), Catch::Contains("both target and drive"));
}

TEST_CASE("Options that conflict with a file, each other or the machine's memory are refused",
          "[fast][joma]") {
  const ScratchFolder folder;
  const std::string path = folder.file("problem.h5");
  Hdf5Writer(path).dataset("target", {2}, std::vector<double>{1, 2});
  struct Refused {
    std::vector<std::string> words;
    std::vector<std::string> says;
  };
  const std::vector<Refused> all = {
      {{"--problem", path, "--activation", "linear"}, {"--activation linear", "nonlinear"}},
      {{"--problem", path, "--tokens", "3"}, {"--tokens 3", "2"}},
      {{"--problem", path, "--nodes", "2"}, {"--nodes 2", "1"}},
      {{"--attention", "linear", "--offset", "-0.1"}, {"--offset", "-0.1", "at least 0"}},
      {{"--offset", "300"}, {"--offset", "300", "-200 to 200"}},
      {{"--target-min", "5"}, {"--target-min 5", "--target-max 4"}},
      {{"--data", "tree", "--tokens", "10"}, {"--tokens 10", "--tree-depth 4", "16"}},
      {{"--tokens", "8e9", "--nodes", "8e9"}, {"--nodes 8000000000", "memory"}},
      {{"--data", "tree", "--tree-depth", "33", "--nodes", "1000"}, {"memory"}},
      {{"--temperature", "0"}, {"--temperature", "0"}},
      {{"--tree-correlation", "1.1"}, {"--tree-correlation", "1.1", "from -1 to 1"}},
  };
  for (const Refused& refused : all) {
    try {
      const Case made(refused.words);
      FAIL(refused.says[0]);
    } catch (const UsageError& error) {
      for (const std::string& part : refused.says) CHECK_THAT(error.what(), Catch::Contains(part));
    }
  }
  // Options without an effect in a variant cause no conflict.
  CHECK_NOTHROW(Case({"--attention", "softmax", "--offset", "-3"}));
  CHECK_NOTHROW(Case({"--attention", "softmax", "--offset", "300"}));
  CHECK_NOTHROW(Case({"--data", "tree", "--tokens", "16"}));
}

TEST_CASE("A run continues from another run's last state in all coordinates", "[fast][joma]") {
  if (!popflow::test::popflow_binary()) return;
  const ScratchFolder folder;
  const std::string first = folder.file("first.h5");
  const std::vector<std::string> problem = {"--activation", "nonlinear", "--nodes",      "2",
                                            "--tokens",     "4",         "--target-max", "2"};
  auto words = problem;
  words.insert(words.begin(), {"run", "joma", "--t-end", "20", "--saves", "3", "-o", first});
  REQUIRE(popflow::test::popflow(words).code == 0);
  const Case origin(problem);
  std::vector<double> x(4);
  FlowDriver driver(*origin.system, const_cast<Workers&>(origin.workers), {});
  driver.advance(20);
  const Matrix expected = origin.joma().deviations(driver.state());
  REQUIRE(expected.cwiseAbs().maxCoeff() < 1e-9);
  for (const char* coordinates : {"reduced", "full"}) {
    auto next = problem;
    next.insert(next.end(), {"--init-from", first, "--coordinates", coordinates});
    const Case made(next);
    // The distance to the target is far below the rounding of v, and the file keeps it.
    const Matrix distance = made.joma().deviations(made.start());
    CHECK((distance.array() / expected.array() - 1).abs().maxCoeff() < 1e-13);
    next.insert(next.end(), {"--init", "0.2"});
    CHECK_THROWS_WITH(Case(next), Catch::Contains("--init 0.2 and --init-from"));
  }
  // With other targets, or with drives, the run continues from v.
  const Case other({"--nodes", "2", "--tokens", "4", "--init-from", first});
  CHECK((other.v(other.start()) - origin.v(driver.state())).cwiseAbs().maxCoeff() < 1e-15);
  CHECK_THROWS_WITH(Case({"--init-from", first}),
                    Catch::Contains("has a state of 2 nodes and 4 tokens"));
}

TEST_CASE("The default end lies after all events", "[fast][joma]") {
  for (const char* attention : {"exp", "softmax", "linear"}) {
    for (const char* low : {"1", "-2"}) {
      const Case made({"--activation", "nonlinear", "--attention", attention, "--target-min", low,
                       "--target-max", "3", "--offset", "0.01"});
      FlowDriver driver(*made.system, const_cast<Workers&>(made.workers), {});
      REQUIRE(driver.advance(made.end).kind == Outcome::Kind::reached);
      CHECK(made.seen(driver.state(), "learned_min") > 0.8);
    }
    const Case drives({"--attention", attention});
    FlowDriver driver(*drives.system, const_cast<Workers&>(drives.workers), {});
    REQUIRE(driver.advance(drives.end).kind == Outcome::Kind::reached);
    CHECK(drives.seen(driver.state(), "effective_tokens") < 8);
  }
}
