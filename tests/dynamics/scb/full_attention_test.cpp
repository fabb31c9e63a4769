#include <cmath>

#include "support/catch.hpp"
#include "support/scb_fixture.hpp"

using namespace popflow;
using namespace popflow::scb;
using namespace popflow::scb::test;

namespace {

/// Returns all numbers that a system computes at a state.
std::vector<double> all_numbers(const Problem& problem, const Variant& variant,
                                const Eigen::MatrixXd& V0, const Eigen::VectorXd& x,
                                unsigned threads) {
  Workers workers(threads);
  const Scb system(problem, variant, Coordinates::full, Start{V0, false}, scb::Training{.l1 = 0.01},
                   workers);
  const Eigen::VectorXd dxdt = rhs(system, x);
  std::vector<double> numbers(dxdt.begin(), dxdt.end());
  for (const auto& [name, value] : observe(system, x)) numbers.push_back(value);
  std::vector<double> events(system.shape().events.size());
  system.event_functions(view(x), 0, events);
  numbers.insert(numbers.end(), events.begin(), events.end());
  const Matrices point = recorded(system, x);
  numbers.insert(numbers.end(), point.A.reshaped().begin(), point.A.reshaped().end());
  if (!variant.softmax) {
    Eigen::VectorXd shrunk = x;
    system.proximal(view(shrunk), {}, 0.5);
    numbers.insert(numbers.end(), shrunk.begin(), shrunk.end());
  }
  return numbers;
}

}  // namespace

TEST_CASE("The number of threads changes no bit", "[fast][scb]") {
  const bool softmax = GENERATE(false, true);
  const bool project = GENERATE(false, true);
  const Variant variant{.softmax = softmax, .project = project};
  // Long columns take one task each; several short columns share a task.
  const auto [N, T] = GENERATE(table<int, int>({{7, 20'000}, {300, 501}}));
  const Problem problem = uneven_problem(N, T, 3, 1);
  const auto V0 = start_value(problem, From::transfer);
  const auto system = make_scb(problem, variant, Coordinates::full, V0);
  const Eigen::VectorXd x = random_state(*system, 0.1, 2);
  const auto one = all_numbers(problem, variant, V0, x, 1);
  for (const unsigned threads : {2u, 3u, 5u}) {
    const bool same = all_numbers(problem, variant, V0, x, threads) == one;
    CHECK(same);
  }
}

TEST_CASE("The flow of large states, whose derivatives bypass the caches, is right",
          "[fast][scb]") {
  // More than 4 million entries, and columns that begin anywhere within a cache line. Compares the
  // derivative of all columns with its definition.
  const int N = 5;
  const int T = 1'000'003;
  const Problem problem = uneven_problem(N, T, 3, 1);
  const auto V0 = start_value(problem, From::transfer);
  const bool softmax = GENERATE(false, true);
  const bool balanced = GENERATE(false, true);
  const auto system = make_scb(problem, {.softmax = softmax}, Coordinates::full, V0);
  Eigen::VectorXd x = random_state(*system, 0.1, 2);
  if (balanced) {
    // Deviations with an exact sum of 0, which the projected flow conserves.
    auto columns = x.tail(N * T).reshaped(T, N);
    columns = (columns.array() * 0x1p20).round() * 0x1p-20;
    columns.bottomRows(T / 2) = -columns.topRows(T / 2).eval();
    columns.row(T / 2).setZero();
  }
  const Eigen::VectorXd dxdt = rhs(*system, x);
  const Eigen::MatrixXd V = V0 + x.head(N * N).reshaped(N, N);
  Eigen::MatrixXd sigma = -problem.mu * problem.mu.transpose();
  sigma.diagonal() += problem.mu;
  const double PV = (V.transpose() * problem.P * sigma).trace();
  const double VV = (V.transpose() * V * sigma).trace();
  for (Eigen::Index k = 0; k < N; ++k) {
    const Eigen::VectorXd state = x.segment(N * N + k * T, T);
    Eigen::VectorXd a;
    if (softmax)
      a = state.array().exp() / state.array().exp().sum();
    else
      a = state.array() + 1.0 / T;
    Eigen::VectorXd expected = -VV * a;
    for (Eigen::Index slot = 0; slot < problem.Q.slots(); ++slot)
      if (problem.Q.position(slot, k) >= 0)
        expected[problem.Q.position(slot, k)] += PV * problem.Q.weight(slot, k);
    if (softmax)
      expected = a.cwiseProduct((expected.array() - a.dot(expected)).matrix()).eval();
    else
      expected.array() -= expected.mean();
    CHECK(difference(dxdt.segment(N * N + k * T, T), expected) < 1e-11);
  }
}

TEST_CASE("Large logits do not overflow", "[fast][scb]") {
  const int N = 4;
  const int T = 9;
  const Problem problem = uneven_problem(N, T, 3, 1);
  const auto V0 = start_value(problem, From::transfer);
  for (const Coordinates coordinates : {Coordinates::full, Coordinates::support}) {
    const auto system = make_scb(problem, {.softmax = true}, coordinates, V0);
    // A number added to all logits of a column has no effect, however large.
    const Eigen::VectorXd x = random_state(*system, 0.3, 1);
    const auto rows = coordinates == Coordinates::full ? T : problem.Q.slots() + 1;
    for (const double shift : {1024.0, -1024.0, 1048576.0, -1048576.0}) {
      Eigen::VectorXd y = x;
      y.tail(rows * N).array() += shift;
      CHECK(difference(rhs(*system, y), rhs(*system, x)) < 1e-9);
      for (const auto& [name, value] : observe(*system, y)) {
        INFO(name);
        CHECK(std::abs(value - observe(*system, x).at(name)) < 1e-9);
      }
    }
    // With logits far apart all attention is on one entry of each column, and the logits do not
    // move.
    Eigen::VectorXd apart = x;
    apart.tail(rows * N).setConstant(-1e5);
    for (Eigen::Index k = 0; k < N; ++k) apart[apart.size() - rows * N + k * rows] = 1e5;
    const Matrices point = recorded(*system, apart);
    CHECK(point.A.allFinite());
    CHECK(point.A.maxCoeff() == 1);
    CHECK(rhs(*system, apart).allFinite());
    CHECK(rhs(*system, apart).tail(rows * N).cwiseAbs().maxCoeff() < 1e-15);
    for (const auto& [name, value] : observe(*system, apart)) {
      INFO(name);
      CHECK(std::isfinite(value));
    }
  }
}
