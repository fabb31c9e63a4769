#include "dynamics/scb/problem.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "dynamics/scb/drawn.hpp"
#include "dynamics/scb/problem_file.hpp"
#include "dynamics/scb/problem_setup.hpp"
#include "popflow/error.hpp"
#include "popflow/random.hpp"
#include "support/catch.hpp"
#include "support/hdf5_writer.hpp"
#include "support/scratch_folder.hpp"

using namespace popflow;
using namespace popflow::scb;
using namespace popflow::scb::test;
using Catch::Contains;
using popflow::test::Hdf5Writer;
using popflow::test::ScratchFolder;

namespace {

using Numbers = std::vector<double>;

Numbers row_major(const Eigen::MatrixXd& matrix) {
  Numbers values;
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    for (Eigen::Index j = 0; j < matrix.cols(); ++j) values.push_back(matrix(i, j));
  }
  return values;
}

/// Problem of two tokens, three positions and two slots; tests make one dataset at a time invalid.
struct SmallFile {
  bool has_mu = true;
  bool sparse = true;
  bool dense = false;
  bool has_length = true;
  std::string group;
  std::vector<hsize_t> P_shape = {2, 2};
  Numbers P = {0.75, 0.5, 0.25, 0.5};
  std::vector<hsize_t> mu_shape = {2};
  Numbers mu = {2.0 / 3, 1.0 / 3};
  Numbers Q_value = {0.25, 0, 0.75, 1};
  std::vector<long long> Q_position = {2, 7, 0, 1};  // the 7 is in an unused slot
  std::vector<hsize_t> Q_shape = {3, 2};
  Numbers Q = {0.75, 0, 0, 1, 0.25, 0};
  double context_length = 3;
  Numbers V0;

  std::string write(const ScratchFolder& folder) const {
    const std::string path = folder.file("problem.h5");
    Hdf5Writer file(path);
    if (!group.empty()) file.group(group);
    const std::string at = group.empty() ? "" : group + "/";
    file.dataset(at + "P", P_shape, P);
    if (has_mu) file.dataset(at + "mu", mu_shape, mu);
    if (sparse) {
      file.dataset(at + "Q_value", {2, 2}, Q_value);
      file.dataset(at + "Q_position", {2, 2}, Q_position);
      if (has_length) file.attribute(group, "context_length", context_length);
    }
    if (dense) file.dataset(at + "Q", Q_shape, Q);
    if (!V0.empty()) file.dataset(at + "V0", {2, 2}, V0);
    return path;
  }

  /// Returns the message of reading the file, without the file's name; empty if the file is valid.
  [[nodiscard]] std::string complaint() const {
    const ScratchFolder folder;
    const std::string path = write(folder);
    const std::string said = sentence<InputError>([&] { read_problem_file(path); });
    if (said.empty()) return said;
    REQUIRE_THAT(said, Catch::StartsWith(path));
    return said.substr(path.size());
  }
};

void check_columns_sum_to_one(const Eigen::MatrixXd& matrix) {
  for (Eigen::Index k = 0; k < matrix.cols(); ++k) {
    CHECK(std::abs(matrix.col(k).sum() - 1) < 1e-14 * static_cast<double>(matrix.rows() + 10));
  }
}

}  // namespace

// ---- The stationary distribution

TEST_CASE("GTH agrees with a linear solve", "[fast][scb]") {
  const std::int64_t N = GENERATE(2, 3, 10, 60);
  const double concentration = GENERATE(0.3, 1.0, 10.0);
  const Eigen::MatrixXd P = draw_transitions(N, concentration, 5);
  const Eigen::VectorXd mu = stationary_distribution(P, "P");
  // (I - P) mu = 0 with one equation replaced by sum mu = 1.
  Eigen::MatrixXd equations = Eigen::MatrixXd::Identity(N, N) - P;
  equations.row(0).setOnes();
  const Eigen::VectorXd solved = equations.fullPivLu().solve(Eigen::VectorXd::Unit(N, 0));
  CHECK((mu - solved).cwiseAbs().maxCoeff() < 1e-12);
  CHECK((P * mu - mu).cwiseAbs().maxCoeff() < 1e-15);
  CHECK(std::abs(mu.sum() - 1) < 1e-15 * 10);
  CHECK(mu.minCoeff() > 0);
}

TEST_CASE("GTH agrees with a long power iteration", "[fast][scb]") {
  const Eigen::MatrixXd P = draw_transitions(20, 1, 6);
  Eigen::VectorXd power = Eigen::VectorXd::Constant(20, 0.05);
  for (int i = 0; i < 500; ++i) power = (P * power).eval();
  CHECK((stationary_distribution(P, "P") - power).cwiseAbs().maxCoeff() < 1e-15);
}

TEST_CASE("GTH is accurate in every component of a nearly decoupled chain", "[fast][scb]") {
  // Token 0 is left with probability a = 3e-18 and token 1 with b = 2e-3. 1 - a rounds to 1, so
  // that a linear solve takes token 0 for absorbing. mu is proportional to (b, a).
  const double a = 3e-18;
  const double b = 2e-3;
  Eigen::MatrixXd P(2, 2);
  P << 1 - a, b, a, 1 - b;
  const Eigen::VectorXd mu = stationary_distribution(P, "P");
  CHECK(std::abs(mu[1] / (a / (a + b)) - 1) < 1e-15);
  CHECK(std::abs(mu[0] / (b / (a + b)) - 1) < 1e-15);

  // Two blocks of two tokens, coupled by 1e-17 in one direction and 4e-17 in the other: the blocks'
  // weights are 4 to 1.
  Eigen::MatrixXd blocks(4, 4);
  blocks << 0.5, 0.25, 4e-17, 0,  //
      0.5, 0.75, 0, 0,            //
      0, 1e-17, 0.5, 0.5,         //
      0, 0, 0.5, 0.5;
  const Eigen::VectorXd nu = stationary_distribution(blocks, "P");
  // The flow between the blocks balances: nu[1] * 1e-17 = nu[2] * 4e-17. Within the blocks nu[1] =
  // 2 nu[0] and nu[2] = nu[3].
  CHECK(std::abs(nu[1] / nu[0] - 2) < 1e-14);
  CHECK(std::abs(nu[2] / nu[3] - 1) < 1e-14);
  CHECK(std::abs(nu[1] / nu[2] - 4) < 1e-14);
}

TEST_CASE("A chain without a positive stationary distribution is refused", "[fast][scb]") {
  Eigen::MatrixXd two_classes(4, 4);
  two_classes << 0.5, 0.5, 0, 0, 0.5, 0.5, 0, 0, 0, 0, 0.5, 0.5, 0, 0, 0.5, 0.5;
  CHECK_THAT(sentence<InputError>([&] { stationary_distribution(two_classes, "F: P"); }),
             Contains("F: P is reducible") && Contains("token 2 no token of a smaller number"));
  // The identity has many stationary distributions, some of them positive.
  CHECK_THAT(
      sentence<InputError>([&] { stationary_distribution(Eigen::MatrixXd::Identity(2, 2), "P"); }),
      Contains("is not unique"));
  Eigen::MatrixXd transient(2, 2);
  transient << 1, 0.5, 0, 0.5;
  CHECK_THAT(sentence<InputError>([&] { stationary_distribution(transient, "P"); }),
             Contains("token 1 is never reached"));
  Eigen::MatrixXd absorbing(2, 2);
  absorbing << 0.5, 0, 0.5, 1;
  CHECK_THAT(sentence<InputError>([&] { stationary_distribution(absorbing, "P"); }),
             Contains("from token 1"));
  // A periodic chain has a unique stationary distribution.
  Eigen::MatrixXd swap(2, 2);
  swap << 0, 1, 1, 0;
  CHECK(stationary_distribution(swap, "P") == Eigen::Vector2d(0.5, 0.5));
}

// ---- Drawn problems

TEST_CASE("A drawn problem is a chain with distinct sorted positions", "[fast][scb]") {
  const std::string weights = GENERATE("0", "0.5");
  const Problem problem = make({{"vocab-size", "15"},
                                {"context-length", "40"},
                                {"sparsity", "7"},
                                {"position-concentration", weights}});
  REQUIRE(problem.vocabulary() == 15);
  CHECK(problem.P.minCoeff() >= 0);
  check_columns_sum_to_one(problem.P);
  CHECK((problem.P * problem.mu - problem.mu).cwiseAbs().maxCoeff() < 1e-15);
  CHECK(problem.Q.context_length == 40);
  REQUIRE(problem.Q.slots() == 7);
  check_columns_sum_to_one(problem.Q.weight);
  for (Eigen::Index k = 0; k < 15; ++k) {
    CHECK(problem.Q.position(0, k) >= 0);
    CHECK(problem.Q.position(6, k) < 40);
    for (Eigen::Index i = 1; i < 7; ++i) {
      CHECK(problem.Q.position(i - 1, k) < problem.Q.position(i, k));
    }
  }
  const bool equal = (problem.Q.weight.array() == 1.0 / 7).all();
  CHECK(equal == (weights == "0"));
  CHECK(problem.labels.empty());
  CHECK_FALSE(problem.V0);
}

TEST_CASE("Parts of a drawn problem don't depend on each other's parameters", "[fast][scb]") {
  const Problem base = make({});
  CHECK(make({}).P == base.P);
  CHECK(make({{"context-length", "1000"}}).P == base.P);
  CHECK(make({{"sparsity", "5"}}).P == base.P);
  CHECK(make({{"position-concentration", "1"}}).P == base.P);
  CHECK(make({{"position-concentration", "1"}}).Q.position == base.Q.position);
  CHECK(make({{"transition-concentration", "3"}}).Q.position == base.Q.position);
  CHECK(make({{"problem-seed", "2"}}).P != base.P);
  CHECK(make({{"problem-seed", "2"}}).Q.position != base.Q.position);
}

TEST_CASE("Drawn columns have the moments of a Dirichlet distribution", "[fast][scb]") {
  const double concentration = GENERATE(0.1, 1.0, 5.0);
  const std::int64_t N = 200;
  const Eigen::MatrixXd P = draw_transitions(N, concentration, 11);
  // For each column E[sum of squares] = (concentration + 1) / (N concentration + 1).
  const Eigen::ArrayXd squares = P.colwise().squaredNorm().transpose().array();
  const double mean = squares.mean();
  const double error = std::sqrt((squares - mean).square().sum() / (N * (N - 1.0)));
  CHECK(std::abs(mean - (concentration + 1) / (N * concentration + 1)) < 5 * error);
  // A row's sum has mean 1 and variance N var(entry).
  const double variance = (N - 1.0) / N / (N * concentration + 1);
  CHECK((P.rowwise().sum().array() - 1).abs().maxCoeff() < 6 * std::sqrt(variance));
}

TEST_CASE("Tiny concentrations give one-hot columns, not 0/0", "[fast][scb]") {
  for (const double concentration : {1e-5, 1e-300, 1e-310}) {
    const Eigen::MatrixXd P = draw_transitions(8, concentration, 1);
    CHECK(P.allFinite());
    check_columns_sum_to_one(P);
    CHECK(P.colwise().maxCoeff().minCoeff() > 0.99);
  }
  CHECK_THAT(sentence<UsageError>([] {
               make({{"transition-concentration", "1e-05"}, {"vocab-size", "30"}});
             }),
             Contains("raise --transition-concentration") && Contains("1e-05"));
}

TEST_CASE("Drawn positions are uniform", "[fast][scb]") {
  const std::int64_t queries = 20000;
  const Positions Q = draw_positions(queries, 10, 4, 0, 3);
  std::vector<double> count(10, 0);
  for (const std::int64_t position : Q.position.reshaped()) {
    ++count[static_cast<std::size_t>(position)];
  }
  for (const double c : count) CHECK(std::abs(c - 8000) < 5 * std::sqrt(20000 * 0.4 * 0.6));
}

TEST_CASE("A context of length 1e12 costs no more than its positions", "[fast][scb]") {
  const Problem problem =
      make({{"context-length", "1000000000000"}, {"sparsity", "50"}, {"vocab-size", "100"}});
  CHECK(problem.Q.weight.size() == 5000);
  CHECK(problem.Q.position.maxCoeff() < 1000000000000);
  CHECK(problem.Q.position.maxCoeff() > 990000000000);
  CHECK(problem.Q.position.minCoeff() < 10000000000);
}

TEST_CASE("A support as large as the context contains all positions", "[fast][scb]") {
  const Problem problem = make({{"context-length", "5"}, {"sparsity", "5"}});
  for (Eigen::Index i = 0; i < 5; ++i) CHECK((problem.Q.position.row(i).array() == i).all());
  CHECK_THAT(sentence<UsageError>([] {
               make({{"context-length", "5"}, {"sparsity", "6"}});
             }),
             Contains("--sparsity 6 exceeds --context-length 5"));
}

TEST_CASE("Two sources of P are refused", "[fast][scb]") {
  CHECK_THAT(sentence<UsageError>([] {
               make({{"problem", "a"}, {"text", "b"}});
             }),
             Contains("--problem") && Contains("--text"));
  CHECK_THAT(sentence<UsageError>([] {
               make({{"problem", "a"}, {"counts", "b"}});
             }),
             Contains("--problem") && Contains("--counts"));
  CHECK_THAT(sentence<UsageError>([] {
               make({{"counts", "a"}, {"text", "b"}});
             }),
             Contains("--counts") && Contains("--text"));
}

// ---- Problem files

TEST_CASE("A problem file is read unchanged, sparse or dense, from the file's root or a group",
          "[fast][scb]") {
  const ScratchFolder folder;
  SmallFile file;
  file.group = GENERATE("", "problem");
  const int form = GENERATE(0, 1, 2);
  file.sparse = form != 1;
  file.dense = form != 0;
  file.V0 = {1, 2, -3, 4};
  const std::string path = file.write(folder);
  ProblemSetup setup({{"problem", path}});
  const Problem problem = setup.make();
  CHECK(row_major(problem.P) == file.P);
  CHECK(row_major(problem.mu) == file.mu);
  CHECK(problem.Q.context_length == 3);
  Eigen::MatrixXd weight(2, 2);
  weight << 0.75, 1, 0.25, 0;
  CHECK(problem.Q.weight == weight);
  Eigen::Matrix<std::int64_t, 2, 2> position;
  position << 0, 1, 2, -1;
  CHECK(problem.Q.position == position);
  REQUIRE(problem.V0);
  CHECK(row_major(*problem.V0) == file.V0);
  CHECK(setup.own().integer("vocab-size") == 2);
  CHECK(setup.own().integer("context-length") == 3);
  CHECK(setup.own().integer("sparsity") == 2);
  CHECK_FALSE(setup.own().given("vocab-size"));

  CHECK_NOTHROW(make({{"problem", path}, {"vocab-size", "2"}, {"sparsity", "2"}}));
  CHECK_THAT(sentence<UsageError>([&] {
               make({{"problem", path}, {"vocab-size", "7"}});
             }),
             Contains("--vocab-size 7") && Contains(path) && Contains("it is 2"));
  CHECK_THAT(sentence<UsageError>([&] {
               make({{"problem", path}, {"context-length", "7"}});
             }),
             Contains("--context-length 7") && Contains("it is 3"));
  CHECK_THAT(sentence<UsageError>([&] {
               make({{"problem", path}, {"sparsity", "1"}});
             }),
             Contains("--sparsity 1") && Contains("it is 2"));
}

TEST_CASE("A drawn problem is read back from its file bit for bit", "[fast][scb]") {
  const ScratchFolder folder;
  const bool dense = GENERATE(false, true);
  const Problem drawn = make({{"vocab-size", "9"},
                              {"context-length", "50"},
                              {"sparsity", "4"},
                              {"transition-concentration", "0.2"},
                              {"position-concentration", "0.2"}});
  const std::string path = folder.file("own.h5");
  {
    Hdf5Writer file(path);
    file.group("problem");
    file.dataset("problem/P", {9, 9}, row_major(drawn.P));
    file.dataset("problem/mu", {9}, row_major(drawn.mu));
    if (dense) {
      Eigen::MatrixXd Q = Eigen::MatrixXd::Zero(50, 9);
      for (Eigen::Index k = 0; k < 9; ++k) {
        for (Eigen::Index i = 0; i < 4; ++i) Q(drawn.Q.position(i, k), k) = drawn.Q.weight(i, k);
      }
      file.dataset("problem/Q", {50, 9}, row_major(Q));
    } else {
      std::vector<long long> position;
      for (Eigen::Index i = 0; i < 4; ++i) {
        for (Eigen::Index k = 0; k < 9; ++k) position.push_back(drawn.Q.position(i, k));
      }
      file.dataset("problem/Q_value", {4, 9}, row_major(drawn.Q.weight));
      file.dataset("problem/Q_position", {4, 9}, position);
      file.attribute("problem", "context_length", 50LL);
    }
    file.dataset("token", {9}, Numbers(9, 0));
    file.attribute("token", "labels", std::string("a b c d e f g h i"));
  }
  const Problem read = make({{"problem", path}});
  CHECK(read.P == drawn.P);
  CHECK(read.mu == drawn.mu);
  CHECK(read.Q.context_length == drawn.Q.context_length);
  CHECK(read.Q.weight == drawn.Q.weight);
  CHECK(read.Q.position == drawn.Q.position);
  CHECK(read.labels == split_labels("a b c d e f g h i"));
}

TEST_CASE("Without mu the stationary vector is computed", "[fast][scb]") {
  const ScratchFolder folder;
  SmallFile file;
  file.has_mu = false;
  const Problem problem = read_problem_file(file.write(folder));
  CHECK(std::abs(problem.mu[0] - 2.0 / 3) < 1e-15);

  file.P = {1, 0, 0, 1};
  CHECK_THAT(file.complaint(), Contains(": P is reducible"));
}

TEST_CASE("mu may be a row or a column", "[fast][scb]") {
  SmallFile file;
  file.mu_shape = GENERATE(std::vector<hsize_t>{1, 2}, std::vector<hsize_t>{2, 1});
  CHECK(file.complaint().empty());
}

TEST_CASE("A wrong problem file is refused with the first wrong entry", "[fast][scb]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  SmallFile file;
  REQUIRE(file.complaint().empty());

  SECTION("P") {
    file.P = {0.75, 0.49, 0.25, 0.5};
    CHECK(file.complaint() ==
          ": column 1 of P sums to 0.99; every column must sum to 1 within 1e-09");
    file.P = {0.75, 1.5, 0.25, -0.5};
    CHECK(file.complaint() == ": P[1,1] is -0.5; no entry may be negative");
    file.P = {0.75, nan, 0.25, -0.5};
    CHECK_THAT(file.complaint(), Contains(": P[0,1] is nan; every entry must be finite"));
    file.P_shape = {1, 4};
    CHECK(file.complaint() == ": P has shape (1, 4); it must be square with at least 2 tokens");
    file.P_shape = {4};
    CHECK_THAT(file.complaint(), Contains("P has shape (4)"));
    file.P_shape = {1, 1};
    file.P = {1};
    CHECK_THAT(file.complaint(), Contains("P has shape (1, 1)"));
  }
  SECTION("mu") {
    file.mu = {1, 0};
    CHECK(file.complaint() == ": mu[1] is 0; every entry must be positive");
    file.mu = {-1, 2};
    CHECK(file.complaint() == ": mu[0] is -1; no entry may be negative");
    file.mu = {0.5, inf};
    CHECK(file.complaint() == ": mu[1] is inf; every entry must be finite");
    file.mu = {0.5, 0.25};
    CHECK(file.complaint() == ": mu sums to 0.75; it must sum to 1 within 1e-09");
    file.mu = {0.5, 0.5};
    CHECK(file.complaint() ==
          ": mu is not stationary: (P mu - mu)[0] is 0.125; it must be 0 within 1e-09");
    file.mu_shape = {3};
    file.mu = {0.5, 0.25, 0.25};
    CHECK(file.complaint() == ": mu has shape (3); it must be (2), as P has 2 tokens");
  }
  SECTION("tolerance") {
    file.P = {0.75 + 5e-10, 0.5, 0.25, 0.5};
    CHECK(file.complaint().empty());
    file.P = {0.75 + 2e-9, 0.5, 0.25, 0.5};
    CHECK_THAT(file.complaint(), Contains("column 0 of P"));
  }
  SECTION("sparse positions") {
    file.Q_position = {2, 0, 3, 1};
    CHECK(file.complaint() ==
          ": Q_position[1,0] is 3; positions are whole numbers from 0 to 2 "
          "(context_length 3)");
    file.Q_position = {-1, 0, 2, 1};
    CHECK_THAT(file.complaint(), Contains("Q_position[0,0] is -1"));
    file.Q_position = {2, 0, 2, 1};
    CHECK(file.complaint() ==
          ": Q_position[1,0] is 2 like Q_position[0,0]; the positions of a "
          "column must be distinct");
  }
  SECTION("sparse weights") {
    file.Q_value = {0.25, 0, 0.5, 1};
    CHECK_THAT(file.complaint(), Contains("column 0 of Q_value sums to 0.75"));
    file.Q_value = {1.25, 0, -0.25, 1};
    CHECK_THAT(file.complaint(), Contains("Q_value[1,0] is -0.25"));
    file.Q_value = {nan, 0, -0.25, 1};
    CHECK_THAT(file.complaint(), Contains("Q_value[0,0] is nan"));
    file.Q_value = {0, 0, 0, 1};
    CHECK_THAT(file.complaint(), Contains("column 0 of Q_value sums to 0;"));
  }
  SECTION("context_length") {
    file.has_length = false;
    CHECK_THAT(file.complaint(), Contains("no attribute context_length"));
    file.has_length = true;
    for (const double wrong : {0.0, 2.5, -3.0, nan, 1e300}) {
      file.context_length = wrong;
      CHECK_THAT(file.complaint(), Contains("attribute context_length is"));
    }
  }
  SECTION("dense positions") {
    file.sparse = false;
    CHECK_THAT(file.complaint(), Contains("holds no positions: neither Q_value nor Q"));
    file.dense = true;
    CHECK(file.complaint().empty());
    file.Q = {0.75, 0, 0, 1, 0.125, 0};
    CHECK_THAT(file.complaint(), Contains("column 0 of Q sums to 0.875"));
    file.Q = {0.75, 0, 0.5, 1, -0.25, 0};
    CHECK_THAT(file.complaint(), Contains(": Q[2,0] is -0.25"));
    file.Q = {0.75, 0, nan, 1, 0.25, 0};
    CHECK_THAT(file.complaint(), Contains(": Q[1,0] is nan"));
    file.Q_shape = {2, 3};
    CHECK(
        file.complaint() ==
        ": Q has shape (2, 3); its columns belong to the 2 tokens of P: it seems to be transposed");
  }
  SECTION("sparse and dense forms that disagree") {
    file.dense = true;
    REQUIRE(file.complaint().empty());
    file.Q = {0.75, 0, 0.25, 1, 0, 0};
    CHECK(file.complaint() ==
          ": Q[1,0] is 0.25, but Q_value with Q_position says 0; the two must agree");
    file.Q = {0.75, 0, 0, 1, 0, 0};
    CHECK_THAT(file.complaint(), Contains("Q[2,0] is 0, but") && Contains("says 0.25"));
    file.Q = {0.75, nan, 0, 1, 0.25, 0};
    CHECK_THAT(file.complaint(), Contains("Q[0,1] is nan"));
    file.Q_shape = {6, 1};
    CHECK_THAT(file.complaint(), Contains("Q has shape (6, 1); it must be (3, 2)"));
  }
  SECTION("V0") {
    file.V0 = {1, 2, inf, 4};
    CHECK(file.complaint() == ": V0[1,0] is inf; every entry must be finite");
  }
}

TEST_CASE("A file that is no problem is refused", "[fast][scb]") {
  const ScratchFolder folder;
  const auto said = [](const std::string& path) {
    return sentence<InputError>([&] { make({{"problem", path}}); });
  };
  const std::string other = folder.file("other.h5");
  { Hdf5Writer(other).dataset("x", {1}, Numbers{1}); }
  CHECK_THAT(said(other), Contains(other) && Contains("holds no dataset P"));
  CHECK_THAT(said(folder.file("none.h5")), Contains("none.h5"));
  CHECK_THAT(said(folder.path()), Contains(folder.path()));
  CHECK_THAT(said(folder.write("text.h5", "no HDF5\n")), Contains("text.h5"));
}

TEST_CASE("Labels are joined by blanks and split again", "[fast][scb]") {
  const std::vector<std::string> labels = {"a", "\u2423", "(other)"};
  CHECK(joined_labels(labels) == "a \u2423 (other)");
  CHECK(split_labels(joined_labels(labels)) == labels);
  CHECK(joined_labels({}).empty());
  CHECK(split_labels("").empty());
}
