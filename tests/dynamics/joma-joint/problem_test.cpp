// Drawn problems, problem files, and refused options.

#include <cmath>

#include "popflow/error.hpp"
#include "popflow/memory.hpp"
#include "popflow/parameter.hpp"
#include "support/catch.hpp"
#include "support/hdf5_writer.hpp"
#include "support/joma_joint_fixture.hpp"
#include "support/make_system.hpp"
#include "support/scratch_folder.hpp"

namespace popflow::joma_joint::test {
namespace {

using Catch::Contains;
using Eigen::Index;
using Eigen::VectorXd;
using popflow::test::Hdf5Writer;
using popflow::test::ScratchFolder;

std::unique_ptr<System> made(const std::vector<std::string>& words) {
  return popflow::test::make_system(popflow::test::parse("joma-joint", words), pool()).system;
}

Problem problem_of(const std::vector<std::string>& words) {
  return dynamic_cast<const JomaJoint&>(*made(words)).data();
}

TEST_CASE("drawn gaussian contexts follow the paper's profile", "[fast][joma-joint]") {
  const Problem problem = problem_of({"--data", "gaussian"});
  REQUIRE(problem.X.rows() == 20);
  REQUIRE(problem.X.cols() == 20);
  CHECK(problem.nodes() == 20);
  for (Index c = 0; c < 20; ++c) {
    CHECK(problem.X.col(c).sum() == Approx(1).epsilon(1e-14));
    CHECK(problem.p[c] == Approx(0.05));
    // Compares the ratios of the profile; the noise is below half of the profile's largest entry,
    // e^0.
    const auto profile = [&](Index l) {
      return std::exp(-std::pow(static_cast<double>(l) - static_cast<double>(c) / 2, 2) / 30);
    };
    for (Index l = 0; l < 10; ++l)
      CHECK(problem.X(l, c) / problem.X(0, c) == Approx(profile(l) / profile(0)).epsilon(1e-12));
    const VectorXd noise = problem.X.col(c).tail(10) * (profile(0) / problem.X(0, c));
    CHECK(noise.maxCoeff() < 0.5);
    CHECK(noise.minCoeff() > 0);
  }
  CHECK(problem.X.col(3).tail(10) != problem.X.col(4).tail(10));
}

TEST_CASE("drawn dirichlet contexts are uniform on the simplex", "[fast][joma-joint]") {
  // Each entry of a column of M = 4 has mean 1/4 and variance 3/80. A row's mean over 20 000
  // columns has standard error 1.4e-3, and its variance about 3e-4. The bounds are five standard
  // errors.
  const Problem problem = problem_of({"--data", "dirichlet", "--tokens", "4", "--classes", "20000",
                                      "--nodes", "2", "--backprop", "stationary"});
  for (Index l = 0; l < 4; ++l) {
    const VectorXd row = problem.X.row(l);
    CHECK(row.mean() == Approx(0.25).margin(7e-3));
    CHECK((row.array() - row.mean()).square().mean() == Approx(3.0 / 80).margin(1.5e-3));
  }
}

TEST_CASE("starts are normal with the given size, and the seed determines them",
          "[fast][joma-joint]") {
  const Problem one = problem_of({"--tokens", "100", "--init-scale", "0.5"});
  CHECK(std::sqrt(one.start.V.squaredNorm() / 2000) == Approx(0.5).epsilon(0.08));
  CHECK(std::abs(one.start.V.mean()) < 0.06);
  CHECK(std::sqrt(one.start.z.squaredNorm() / 100) == Approx(0.5).epsilon(0.35));
  const Problem same = problem_of({"--tokens", "100", "--init-scale", "0.5"});
  CHECK(same.start.V == one.start.V);
  const Problem other = problem_of({"--tokens", "100", "--problem-seed", "2"});
  CHECK(other.start.V != one.start.V);
  CHECK(other.X != one.X);
  // The initial logit is 0, and 1 for linear attention.
  CHECK(problem_of({"--attention", "linear", "--init-scale", "0"}).start.z == VectorXd::Ones(20));
  CHECK(problem_of({"--init-scale", "0"}).start.z.isZero(0));
  CHECK(problem_of({"--init-scale", "0", "--init-logit", "-2"}).start.z ==
        VectorXd::Constant(20, -2));
}

TEST_CASE("all datasets of a problem file are read", "[fast][joma-joint]") {
  const ScratchFolder folder;
  const std::string path = folder.file("problem.h5");
  {
    Hdf5Writer file(path);
    file.dataset("X", {2, 3}, std::vector<double>{0.1, 0.2, 0.3, 0.9, 0.8, 0.7});
    file.dataset("class_weight", {3}, std::vector<double>{0.5, 0.25, 0.25});
    file.dataset("V0", {2, 3}, std::vector<double>{1, 2, 3, 4, 5, 6});
    file.dataset("r0", {3}, std::vector<double>{7, 8, 9});
    file.dataset("z0", {2}, std::vector<double>{-1, 1});
  }
  const Problem problem = problem_of({"--problem", path});
  CHECK(problem.X(0, 2) == 0.3);
  CHECK(problem.X(1, 0) == 0.9);
  CHECK(problem.p[0] == 0.5);
  CHECK(problem.start.V(2, 0) == 3);  // node 2 of token 0
  CHECK(problem.start.V(0, 1) == 4);
  CHECK(problem.start.r[2] == 9);
  CHECK(problem.start.z[0] == -1);

  const std::unique_ptr<System> system = made({"--problem", path});
  std::vector<double> x(system->shape().state_size());
  system->start(x);
  for (std::size_t i = 0; i < 6; ++i) CHECK(x[i] == static_cast<double>(i + 1));  // V(token, node)
  CHECK(x[6] == 7);
  CHECK(x[9] == -1);
}

TEST_CASE("a problem file without a start gets a random start", "[fast][joma-joint]") {
  const ScratchFolder folder;
  const std::string path = folder.file("problem.h5");
  Hdf5Writer(path).dataset("X", {2, 3}, std::vector<double>{0.1, 0.2, 0.3, 0.9, 0.8, 0.7});
  const Problem problem = problem_of({"--problem", path});
  CHECK(problem.nodes() == 3);
  CHECK(problem.p == VectorXd::Constant(3, 1.0 / 3));
  CHECK(problem.start.V.cwiseAbs().maxCoeff() > 0);
  CHECK(problem_of({"--problem", path, "--nodes", "5", "--backprop", "stationary"}).nodes() == 5);
}

TEST_CASE("the message about a wrong problem file names dataset and entry", "[fast][joma-joint]") {
  struct Wrong {
    std::string dataset;
    std::vector<hsize_t> shape;
    std::vector<double> values;
    std::string message;
  };
  const double nan = std::nan("");
  const std::vector<Wrong> all = {
      {"X", {2, 2}, {0.5, -0.1, 0.5, 1.1}, "X[0,1] is -0.1"},
      {"X", {2, 2}, {0.5, 0.3, 0.5, 0.6}, "column 1 of X sums to 0.8999999999999999"},
      {"X", {2, 2}, {0.5, nan, 0.5, 0.6}, "X[0,1] is nan"},
      {"X", {4}, {0.5, 0.5, 0, 0}, "X has shape (4); it must be a matrix"},
      {"X", {0, 2}, {}, "at least one token and one class"},
      {"class_weight", {3}, {0.5, 0.25, 0.25}, "class_weight has shape (3); it must be (2)"},
      {"class_weight", {2}, {0.5, 0.6}, "class_weight sums to 1.1"},
      {"class_weight", {2}, {1.5, -0.5}, "class_weight[1] is -0.5"},
      {"V0", {3, 2}, {1, 1, 1, 1, 1, 1}, "V0 has shape (3, 2); it must be (2, 2)"},
      {"V0", {2, 2}, {1, 1, nan, 1}, "V0[1,0] is nan"},
      {"V0", {2, 0}, {}, "V0 has shape (2, 0)"},
      {"r0", {3}, {1, 1, 1}, "r0 has shape (3); it must be (2), as V0 has 2 nodes"},
      {"r0", {2}, {1, nan}, "r0[1] is nan"},
      {"z0", {3}, {1, 1, 1}, "z0 has shape (3); it must be (2), as X has 2 tokens"},
      {"z0", {2}, {nan, 1}, "z0[0] is nan"}};
  for (const Wrong& wrong : all) {
    INFO(wrong.message);
    const ScratchFolder folder;
    const std::string path = folder.file("problem.h5");
    {
      Hdf5Writer file(path);
      if (wrong.dataset != "X") file.dataset("X", {2, 2}, std::vector<double>{0.5, 0.2, 0.5, 0.8});
      if (wrong.dataset == "r0") file.dataset("V0", {2, 2}, std::vector<double>{1, 1, 1, 1});
      file.dataset(wrong.dataset, wrong.shape, wrong.values);
    }
    CHECK_THROWS_AS(made({"--problem", path}), InputError);
    CHECK_THROWS_WITH(made({"--problem", path}), Contains(wrong.message) && Contains(path));
  }
  const ScratchFolder folder;
  const std::string path = folder.file("problem.h5");
  Hdf5Writer(path).dataset("Y", {1}, std::vector<double>{1});
  CHECK_THROWS_WITH(made({"--problem", path}), Contains("holds no dataset X"));
}

TEST_CASE("a refusal says the reason", "[fast][joma-joint]") {
  const auto refused = [](const std::vector<std::string>& words, const std::string& reason) {
    INFO(reason);
    CHECK_THROWS_AS(made(words), UsageError);
    CHECK_THROWS_WITH(made(words), Contains(reason));
  };
  refused({"--classes", "3", "--nodes", "4"}, "--nodes is 4 and --classes is 3");
  refused({"--attention", "linear", "--init-scale", "0", "--init-logit", "0"}, "do not move");
  refused({"--attention", "linear", "--coordinates", "integrated", "--init-scale", "0.5"},
          "needs z^2 > sum_k v_k^2");
  refused({"--tokens", "1e9", "--classes", "1e6"}, "1000000000 tokens");
  refused({"--tokens", "1e15", "--classes", "1e15"}, "tokens");
  // One copy of X takes a third of the memory, and a run needs more than three copies.
  const double columns = std::ceil(physical_memory() / 8 / 3 / 1000);
  refused({"--tokens", "1000", "--classes", shortest(columns), "--nodes", "1", "--backprop",
           "stationary"},
          "of memory");
  refused({"--temperature", "0"}, "--temperature");
  refused({"--temperature", "-1"}, "--temperature");
  refused({"--relu-smoothing", "-1"}, "--relu-smoothing");
  refused({"--tokens", "0"}, "--tokens");
  refused({"--attention", "relu"}, "--attention");

  const ScratchFolder folder;
  const std::string path = folder.file("problem.h5");
  Hdf5Writer(path).dataset("X", {2, 2}, std::vector<double>{0.5, 0.2, 0.5, 0.8});
  refused({"--problem", path, "--tokens", "3"}, "--tokens 3 disagrees");
  refused({"--problem", path, "--classes", "3"}, "--classes 3 disagrees");
  CHECK_NOTHROW(made({"--problem", path, "--tokens", "2", "--classes", "2"}));
  // Options without an effect are accepted.
  CHECK_NOTHROW(made({"--relu-smoothing", "0.1", "--context-length", "7"}));
  CHECK_NOTHROW(made({"--attention", "linear", "--temperature", "3"}));
}

TEST_CASE("the default end is the one on the reference page", "[fast][joma-joint]") {
  CHECK(made({})->default_end() == 600);
  CHECK(made({"--backprop", "stationary"})->default_end() == 100);
  CHECK(made({"--activation", "square"})->default_end() == 1000);
  CHECK_FALSE(made({})->capabilities().jacobian);
  const auto sharp = made({"--activation", "relu"});
  REQUIRE(sharp->capabilities().switching);
  CHECK(sharp->capabilities().switching->switches() == 400);
  const auto smooth = made({"--activation", "relu", "--relu-smoothing", "0.1"});
  CHECK_FALSE(smooth->capabilities().switching);
}

}  // namespace
}  // namespace popflow::joma_joint::test
