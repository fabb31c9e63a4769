#include <cmath>

#include "dynamics/common/normals.hpp"
#include "support/catch.hpp"
#include "support/finite_differences.hpp"
#include "support/monte_carlo.hpp"
#include "support/subject.hpp"

// Flow and samples compared with the layer itself: prompts drawn pair by pair, and all weights.

using namespace popflow;
using namespace popflow::test;
using Eigen::MatrixXd, Eigen::VectorXd;

namespace {

const VectorXd kLambda = (VectorXd(3) << 1.3, 0.7, 0.4).finished();
constexpr Eigen::Index kD = 3, kPairs = 4;

Subject full(const std::string& pairs = "4", const std::string& tested = "9") {
  return {"linear-attention",
          {"--eigenvalues", "1.3,0.7,0.4", "--context-length", pairs, "--test-length", tested,
           "--coordinates", "full"}};
}

/// Returns a state that is neither diagonal nor balanced.
VectorXd somewhere() {
  return (VectorXd(10) << 0.8, 0.5, 0.2, -0.1, 0.1, 0.3, 0.4, -0.2, 0.1, 0.6).finished();
}

/// Returns a prompt's tokens as columns. The last column is the query, with its label in the entry
/// that is 0 in a prompt.
MatrixXd draw_prompt(RandomStream& random, Eigen::Index pairs) {
  MatrixXd prompt(kD + 1, pairs + 1);
  const VectorXd task = normals(random, kD);
  for (Eigen::Index i = 0; i <= pairs; ++i) {
    prompt.col(i).head(kD) = kLambda.cwiseSqrt().cwiseProduct(normals(random, kD));
    prompt(kD, i) = task.dot(prompt.col(i).head(kD));
  }
  return prompt;
}

/// Returns minus the gradient of (prediction - label)^2 / 2 by W^PV and W^KQ, then the loss. Only U
/// = W^KQ_11 and u = w^PV_22 are nonzero.
VectorXd whole_layer(const VectorXd& x, MatrixXd prompt) {
  MatrixXd PV = MatrixXd::Zero(kD + 1, kD + 1), KQ = PV;
  PV(kD, kD) = x[0];
  KQ.topLeftCorner(kD, kD) = x.tail(kD * kD).reshaped<Eigen::RowMajor>(kD, kD);
  const Eigen::Index pairs = prompt.cols() - 1;
  const double label = prompt(kD, pairs);
  prompt(kD, pairs) = 0;
  const MatrixXd S = prompt * prompt.transpose() / static_cast<double>(pairs);
  const VectorXd query = prompt.col(pairs);
  const double error = PV.row(kD).dot(S * KQ * query) - label;
  MatrixXd by_PV = MatrixXd::Zero(kD + 1, kD + 1);
  by_PV.row(kD) = error * (S * KQ * query).transpose();
  const MatrixXd by_KQ = error * (S * PV.row(kD).transpose()) * query.transpose();
  VectorXd out(2 * (kD + 1) * (kD + 1) + 1);
  out << -by_PV.reshaped<Eigen::RowMajor>(), -by_KQ.reshaped<Eigen::RowMajor>(), error * error / 2;
  return out;
}

/// Returns the gradient for the entries of the matrix that the state holds.
VectorXd of_state(const VectorXd& x, const MatrixXd& prompt) {
  const VectorXd all = whole_layer(x, prompt);
  const Eigen::Index side = kD + 1;
  VectorXd held(1 + kD * kD);
  held[0] = all[side * side - 1];
  for (Eigen::Index i = 0; i < kD; ++i)
    held.segment(1 + i * kD, kD) = all.segment(side * side + i * side, kD);
  return held;
}

}  // namespace

TEST_CASE("linear-attention: the flow is minus the gradient of the loss",
          "[fast][linear-attention]") {
  const Subject subject = full();
  const VectorXd x = somewhere();
  // The loss has degree four, so differences of order four are exact.
  const VectorXd by = gradient([&](const VectorXd& at) { return subject.loss(at); }, x, 0.05);
  CHECK((subject.rhs(x) + by).norm() < 1e-12 * by.norm());
  // Compare the loss with a formula of traces of full matrices.
  const MatrixXd L = kLambda.asDiagonal(), I = MatrixXd::Identity(kD, kD);
  const auto traces = [&](double pairs) {
    const MatrixXd Gamma = (1 + 1 / pairs) * L + L.trace() / pairs * I;
    const MatrixXd U = x.tail(kD * kD).reshaped<Eigen::RowMajor>(kD, kD);
    return (x[0] * x[0] * Gamma * L * U * L * U.transpose() - 2 * x[0] * L * L * U.transpose() + L)
               .trace() /
           2;
  };
  CHECK(subject.loss(x) == Approx(traces(4)).epsilon(1e-13));
  CHECK(subject.observe(x).at("test_loss") == Approx(traces(9)).epsilon(1e-13));
}

TEST_CASE("linear-attention: the flow is that of the whole layer", "[fast][linear-attention]") {
  // 500 000 prompts: the mean gradient by all 32 weights and the mean loss lie within 5 standard
  // errors. Weights outside the state have zero mean gradient.
  const Subject subject = full();
  const VectorXd x = somewhere() / 2, flow = subject.rhs(x);
  const Eigen::Index side = kD + 1;
  VectorXd expected = VectorXd::Zero(2 * side * side + 1);
  expected[side * side - 1] = flow[0];
  for (Eigen::Index i = 0; i < kD; ++i)
    expected.segment(side * side + i * side, kD) = flow.segment(1 + i * kD, kD);
  expected[2 * side * side] = subject.loss(x);
  SampleMean mean(expected.size());
  for (std::uint64_t i = 0; i < repetitions(500'000U); ++i) {
    RandomStream random(5, Purpose::test, 0, i);
    mean.add(whole_layer(x, draw_prompt(random, kPairs)));
  }
  const VectorXd error = (mean.mean() - expected).cwiseAbs() - 5 * mean.standard_error();
  CHECK(error.maxCoeff() <= 0);
  CHECK(mean.standard_error().maxCoeff() < 0.02 * kWiderErrors * flow.cwiseAbs().maxCoeff());
}

TEST_CASE("linear-attention: samples have the distribution of prompts drawn pair by pair",
          "[fast][linear-attention][noise]") {
  // Compares first and second moments of the gradient and of its tanh, which is bounded and depends
  // on the whole distribution. 100 000 samples of each kind; differences within 5 standard errors.
  for (const Eigen::Index pairs : {1, 4}) {
    const Subject subject = full(std::to_string(pairs));
    const VectorXd x = somewhere();
    const auto seen = [](const VectorXd& v) {
      VectorXd all(v.size() * (2 + v.size()));
      all << v, v.array().tanh().matrix(),
          (v.array().tanh().matrix() * v.array().tanh().matrix().transpose()).reshaped();
      return all;
    };
    SampleMean drawn(seen(x).size()), by_pairs(seen(x).size());
    for (std::uint64_t i = 0; i < repetitions(100'000U); ++i) {
      drawn.add(seen(sampled(*subject.system, x, i, {1.0})));
      RandomStream random(6, Purpose::test, 0, i);
      by_pairs.add(seen(of_state(x, draw_prompt(random, pairs))));
    }
    const VectorXd spread =
        (drawn.standard_error().cwiseAbs2() + by_pairs.standard_error().cwiseAbs2()).cwiseSqrt();
    CHECK((drawn.mean() - by_pairs.mean()).cwiseQuotient(spread).cwiseAbs().maxCoeff() < 5);
  }
}
